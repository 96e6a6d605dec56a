"""Sets of stream numbers as sorted lists of half-open ranges that do not touch."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from ingest.models.multiranges import Range
from ingest.store.arrivals import Ints, Mask


def _first(pair: Range) -> int:
    return pair[0]


def _end(pair: Range) -> int:
    return pair[1]


def missing(ranges: Sequence[Range], first: int, end: int) -> list[Range]:
    """What of first .. end - 1 is not in the set."""
    found, reached = [], first
    for low, high in ranges[bisect_left(ranges, first, key=_end) :]:
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


def add(ranges: list[Range], first: int, end: int) -> None:
    """Put first .. end - 1 into the set; ranges that touch become one."""
    # A hostile stream may have thousands of holes, so neither this nor `missing` walks them all.
    before, after = bisect_left(ranges, first, key=_end), bisect_right(ranges, end, key=_first)
    touched = ranges[before:after]
    low = min(first, touched[0][0]) if touched else first
    high = max(end, touched[-1][1]) if touched else end
    ranges[before:after] = [(low, high)]


def holes(ranges: Sequence[Range], most: int) -> list[list[int]]:
    """The first `most` holes below the highest number, each as [first, last]."""
    ends = [0, *(high for _, high in ranges[:most])]
    pairs = [[end, low - 1] for end, (low, _) in zip(ends, ranges[: most + 1], strict=False) if low > end]
    return pairs[:most]


def within(numbers: Ints, ranges: Sequence[Range]) -> Mask:
    """Which numbers the set holds."""
    if not ranges:
        return np.zeros(len(numbers), np.bool_)
    firsts = np.array([first for first, _ in ranges], np.int64)
    ends = np.array([end for _, end in ranges], np.int64)
    place = np.searchsorted(firsts, numbers, "right") - 1
    inside: Mask = (place >= 0) & (numbers < ends[place])
    return inside
