"""Names from outside as people read them: none is invisible, and none turns the words around it."""

import re
import unicodedata

# Marks of direction; those that a name leaves open would reach beyond any element around it.
_TURNS = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}


def legible(name: str) -> str:
    """The name without marks of direction; "(invisible)" where nothing of it can be seen."""
    if not name:
        return name
    seen = _TURNS.sub("", name)
    return seen if any(unicodedata.category(character) not in _UNSEEN for character in seen) else "(invisible)"
