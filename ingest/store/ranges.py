"""Sets of stream numbers as sorted lists of half-open ranges, and as Postgres' int8multirange."""

import re
from collections.abc import Sequence

import numpy as np

from ingest.store.arrivals import Ints, Mask

Range = tuple[int, int]
_PAIR = re.compile(r"\[(\d+),(\d+)\)")


def parse(text: str) -> list[Range]:
    """A multirange in the form that Postgres prints; integer ranges always come as [first,end)."""
    return [(int(first), int(end)) for first, end in _PAIR.findall(text)]


def render(ranges: Sequence[Range]) -> str:
    """The text that Postgres reads as an int8multirange."""
    return "{" + ",".join(f"[{first},{end})" for first, end in ranges) + "}"


def missing(ranges: Sequence[Range], first: int, end: int) -> list[Range]:
    """What of first .. end - 1 is not in the set."""
    found, reached = [], first
    for low, high in ranges:
        if low >= end:
            break
        if low > reached:
            found.append((reached, low))
        reached = max(reached, high)
    if reached < end:
        found.append((reached, end))
    return found


def common(ranges: Sequence[Range], first: int, end: int) -> list[Range]:
    """What of first .. end - 1 is in the set."""
    return [(max(low, first), min(high, end)) for low, high in ranges if low < end and high > first]


def add(ranges: Sequence[Range], first: int, end: int) -> list[Range]:
    """The set with first .. end - 1; ranges that touch become one."""
    before = [(low, high) for low, high in ranges if high < first]
    after = [(low, high) for low, high in ranges if low > end]
    touched = [(low, high) for low, high in ranges if high >= first and low <= end]
    low = min([first, *(low for low, _ in touched)])
    high = max([end, *(high for _, high in touched)])
    return [*before, (low, high), *after]


def holes(ranges: Sequence[Range], most: int) -> list[list[int]]:
    """The first `most` holes below the highest number, each as [first, last]."""
    if not ranges:
        return []
    return [[first, end - 1] for first, end in missing(ranges, 0, ranges[-1][1])[:most]]


def within(numbers: Ints, ranges: Sequence[Range]) -> Mask:
    """Which numbers the set holds."""
    if not ranges:
        return np.zeros(len(numbers), np.bool_)
    firsts = np.array([first for first, _ in ranges], np.int64)
    ends = np.array([end for _, end in ranges], np.int64)
    place = np.searchsorted(firsts, numbers, "right") - 1
    inside: Mask = (place >= 0) & (numbers < ends[place])
    return inside
