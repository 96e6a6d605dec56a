"""Postgres' int8multirange, for which Django has no field, as sorted lists of half-open ranges."""

import re
from collections.abc import Sequence

Range = tuple[int, int]
_PAIR = re.compile(r"\[(\d+),(\d+)\)")


def parse(text: str) -> list[Range]:
    """A multirange in the form that Postgres prints; integer ranges always come as [first,end)."""
    return [(int(first), int(end)) for first, end in _PAIR.findall(text)]


def render(ranges: Sequence[Range]) -> str:
    """The text that Postgres reads as an int8multirange."""
    return "{" + ",".join(f"[{first},{end})" for first, end in ranges) + "}"
