"""What of each window a worker lost: input, transfer that no compute hides, and waiting, by the window's wall time."""

import numpy as np

from ingest.detection import leaf
from ingest.detection.facts import Floats, History, Ints, Kind
from ingest.detection.intervals import Intervals, lengths

_LOST = [Kind.INPUT, Kind.TRANSFER, Kind.WAIT]


def lost(history: History, last: int) -> Floats:
    """The last so many windows by workers, shares from 0 to 1; NaN where a worker has no phase in a window.

    A window's wall time is from a worker's first begin in it to its last end: what is lost in (input + exposed + wait)
    is lost where none of the worker's computing goes on.
    """
    spans, windows = history.spans, history.windows[-last:]
    found = np.full((len(windows), len(history.workers)), np.nan)
    for at, window in enumerate(windows):
        own = spans.chosen(np.flatnonzero(np.isin(spans.round, window.rounds)))
        if not len(own):
            continue
        around = leaf.parents(own)
        kinds, parts = leaf.kinds(own, around), leaf.pieces(own, around)
        kind, lane = kinds[parts.group], own.lane[parts.group]
        by_lane = Intervals(lane, parts.begin, parts.end)
        lanes = np.unique(own.lane)
        computing, idle = kind == Kind.COMPUTE, np.isin(kind, _LOST)
        both = lengths(by_lane.chosen(computing | idle), lanes) - lengths(by_lane.chosen(computing), lanes)
        wall = _walls(own.lane, own.begin_ns, own.end_ns, lanes)
        place = {worker.lane: column for column, worker in enumerate(history.workers)}
        found[at, [place[one] for one in lanes.tolist()]] = both / np.maximum(wall, 1)
    return found


def _walls(lane: Ints, begin: Ints, end: Ints, lanes: Ints) -> Ints:
    at = np.searchsorted(lanes, lane)
    first: Ints = np.full(len(lanes), np.iinfo(np.int64).max)
    last: Ints = np.zeros(len(lanes), np.int64)
    np.minimum.at(first, at, begin)
    np.maximum.at(last, at, end)
    return last - first
