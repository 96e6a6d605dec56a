"""Names from outside as people read them: none is invisible, and none turns the words around it."""

import re
import unicodedata

# Marks of direction; those that a name leaves open would reach beyond any element around it.
_TURNS = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}
# Letters, symbols and marks without ink: what Unicode lets fonts ignore (Default_Ignorable_Code_Point, in
# https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt) beyond those, and the empty Braille pattern.
_INKLESS = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    r"\U000e0000-\U000e0fff]"
)


def all_seen(name: str) -> bool:
    """Whether each character of it can be seen; of blanks, the plain one."""
    return name.isprintable() and not _INKLESS.search(name)


def legible(name: str) -> str:
    """The name without marks of direction; "(invisible)" where nothing of it can be seen."""
    if not name:
        return name
    seen = _TURNS.sub("", name)
    inked = _INKLESS.sub("", seen)
    return seen if any(unicodedata.category(character) not in _UNSEEN for character in inked) else "(invisible)"
