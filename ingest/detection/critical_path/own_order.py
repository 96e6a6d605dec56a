"""Each worker's own order: which piece of it came before a node."""

import numpy as np

from ingest.detection.facts import Ints, Spans

_ADJOINING_NS = 1_000_000  # by so much phases of one thread may overlap even where clocks claim less


def latest(lane: Ints, begin: Ints, end: Ints, key: Ints) -> Ints:
    """For each node the piece before it on its lane: of a piece the last that ended by its begin, -1 for none."""
    piece = np.flatnonzero(key < 0)
    rank = np.unique(lane, return_inverse=True)[1]
    piece = piece[np.lexsort((piece, rank[piece]))]
    # Places in the order of time, for times themselves may be years apart.
    time = np.unique(np.concatenate([begin, end]), return_inverse=True)[1]
    since, until, width = time[: len(begin)], time[len(begin) :], len(time) + 1
    by_time = np.searchsorted(rank[piece] * width + until[piece], rank * width + since, "right")
    places = np.arange(len(lane))
    by_place = np.searchsorted(rank[piece] * len(lane) + piece, rank * len(lane) + places, "left")
    at = np.where(key < 0, by_time, by_place) - 1
    if not len(piece):
        return np.full(len(lane), -1)
    before = piece[at]
    return np.where((at >= 0) & (rank[before] == rank), before, -1)


def adjoining(spans: Spans, lane: Ints, span: Ints, begin: Ints, end: Ints, key: Ints, own: Ints) -> Ints:
    """As `own`, but for pieces that overlap the one before them on their thread by no more than the clock may explain.

    A thread does one thing after the other; times that were mapped by another exchange of clocks may say otherwise.
    """
    piece = np.flatnonzero(key < 0)
    of = span[piece]
    piece = piece[np.lexsort((spans.start[of], begin[piece], spans.thread[of], spans.attempt[of], lane[piece]))]
    before, after = piece[:-1], piece[1:]
    same = (lane[before] == lane[after]) & (end[before] > begin[after]) & (end[before] < end[after])
    for column in (spans.attempt, spans.thread):
        same &= column[span[before]] == column[span[after]]
    explained = spans.error_ns[span[before]] + spans.error_ns[span[after]]
    same &= end[before] - begin[after] <= np.maximum(explained, _ADJOINING_NS)
    found = own.copy()
    found[after[same]] = before[same]
    return found
