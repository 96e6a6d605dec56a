"""Interval algebra on columns of integer nanoseconds, group by group (a group is usually a worker)."""

from dataclasses import dataclass

import numpy as np

from ingest.detection.facts import Ints

_MOST = 1 << 62  # beyond it numbers no longer fit


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Half-open intervals [begin, end) as columns; `group` says whose each is. Empty ones count nothing."""

    group: Ints
    begin: Ints
    end: Ints

    def clipped(self, least: int, most: int) -> "Intervals":
        """The parts within [least, most)."""
        return Intervals(self.group, np.maximum(self.begin, least), np.minimum(self.end, most))

    def chosen(self, flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> "Intervals":
        """Those for which `flags` is true."""
        return Intervals(self.group[flags], self.begin[flags], self.end[flags])


def union(parts: Intervals) -> Intervals:
    """The same instants as disjoint, maximal intervals, sorted by group and begin."""
    filled = parts.chosen(parts.end > parts.begin)
    if not len(filled.begin):
        return filled
    order = np.lexsort((filled.begin, filled.group))
    group, begin, end = filled.group[order], filled.begin[order], filled.end[order]
    rank = np.unique(group, return_inverse=True)[1]
    reached = running_most(rank, end)
    opens = np.ones(len(begin), np.bool_)
    opens[1:] = (rank[1:] != rank[:-1]) | (begin[1:] > reached[:-1])
    last = np.append(np.flatnonzero(opens)[1:] - 1, len(begin) - 1)
    return Intervals(group[opens], begin[opens], reached[last])


def lengths(parts: Intervals, groups: Ints) -> Ints:
    """Nanoseconds that the union of `parts` covers in each of `groups` (sorted, distinct)."""
    joined = union(parts)
    joined = joined.chosen(np.isin(joined.group, groups))
    total = np.zeros(len(groups), np.int64)
    np.add.at(total, np.searchsorted(groups, joined.group), joined.end - joined.begin)
    return total


def running_most(rank: Ints, values: Ints) -> Ints:
    """The greatest value so far within each group; `rank` numbers the groups from 0 and ascends."""
    if not len(values):
        return values
    low, groups = int(values.min()), int(rank[-1]) + 1
    width = int(values.max()) - low + 1
    if width * groups >= _MOST:
        # Clocks that are years apart: the places of the values in their order stand for them.
        known, place = np.unique(values, return_inverse=True)
        return known[running_most(rank, place)]
    lift = rank * width
    highest: Ints = np.maximum.accumulate(values - low + lift) - lift + low
    return highest
