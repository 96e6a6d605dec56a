"""Names from outside are legible."""

import pytest

from dashboard.teams.names import all_seen, legible


@pytest.mark.parametrize(
    ("name", "shown"),
    [("", ""), ("rank-0", "rank-0"), ("<b>", "<b>"), ("été 漢", "été 漢"),
     ("\u202egnol\u2067", "gnol"), ("a\u200bb", "a\u200bb"),
     ("\u200b\u200d\ufeff", "(invisible)"), ("\u202e", "(invisible)"), (" \n", "(invisible)"),
     ("\u3164", "(invisible)"), ("\u115f\u1160\uffa0", "(invisible)"), ("\u2800 \u2800", "(invisible)"),
     ("\ufe0f", "(invisible)"), ("\U000e0100\u034f", "(invisible)"), ("\u2764\ufe0f", "\u2764\ufe0f"),
     ("한", "한"), ("\u2801", "\u2801")],
)  # fmt: skip
def test_a_name_can_be_seen_and_turns_nothing_around_it(name: str, shown: str) -> None:
    assert legible(name) == shown


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("été 漢", True),
        ("a\u200bb", False),
        ("a\nb", False),
        ("a\u3164b", False),
        ("a\u202eb", False),
        ("a\xa0b", False),
    ],
)
def test_a_name_is_seen_whole_or_not(name: str, whole: bool) -> None:
    assert all_seen(name) is whole
