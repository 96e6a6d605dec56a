"""Rooms of pages do not know each other: what two of them show stands in the shell."""

import re
from pathlib import Path

import pytest

DASHBOARD = Path(__file__).parents[2] / "dashboard"
ROOMS = sorted(path.parent.name for path in DASHBOARD.glob("*/templates"))
_NAMED = re.compile(r"""\{%\s*(?:extends|include)\s+["']([^"']+)["']""")


def taken(room: str) -> set[str]:
    """The templates that a room's own extend and include, by their names."""
    pages = list((DASHBOARD / room / "templates").rglob("*.html"))
    assert pages
    return {name for page in pages for name in _NAMED.findall(page.read_text())}


@pytest.mark.parametrize("room", ROOMS)
def test_a_rooms_pages_are_made_of_its_own_and_the_shells(room: str) -> None:
    places = (DASHBOARD / "templates", DASHBOARD / room / "templates")
    assert [name for name in sorted(taken(room)) if not any((place / name).is_file() for place in places)] == []


def test_no_room_is_overlooked() -> None:
    assert {"alerts", "live", "runs", "teams"} <= set(ROOMS)
