"""Leaf time: what of a span is its own, after nested spans of the same thread have taken their time from it."""

import numpy as np

from ingest.detection.facts import Ints, Kind, Spans
from ingest.detection.intervals import Intervals, running_most


def parents(spans: Spans) -> Ints:
    """For each span the position of the span around it on the same thread, or -1.

    A parent that is not among the spans (still open, or outside of the rounds looked at) counts as none, and
    so does one that did not start earlier: numbers grow, and no list of spans may go round in circles.
    """
    keys = zip(spans.attempt.tolist(), spans.start.tolist(), strict=True)
    position = {key: index for index, key in enumerate(keys)}
    wanted = zip(spans.attempt.tolist(), spans.parent.tolist(), strict=True)
    around = np.array([position.get(key, -1) for key in wanted], np.int64)
    same = (spans.lane[around] == spans.lane) & (spans.thread[around] == spans.thread)
    earlier = spans.parent < spans.start
    return np.where((around >= 0) & same & earlier, around, -1)


def kinds(spans: Spans, around: Ints) -> Ints:
    """Each span's kind; whatever is nested under persist is persist (an upload to storage is no exchange)."""
    found = spans.kind.copy()
    nested = np.flatnonzero(around >= 0)
    while True:
        turned = nested[(found[around[nested]] == Kind.PERSIST) & (found[nested] != Kind.PERSIST)]
        if not len(turned):
            return found
        found[turned] = Kind.PERSIST


def pieces(spans: Spans, around: Ints) -> Intervals:
    """The leaf time of all spans: disjoint parts of each, with the span's position as the group."""
    nested = np.flatnonzero(around >= 0)
    nested = nested[np.lexsort((spans.begin_ns[nested], around[nested]))]
    owner = around[nested]
    begin = np.clip(spans.begin_ns[nested], spans.begin_ns[owner], spans.end_ns[owner])
    end = np.clip(spans.end_ns[nested], spans.begin_ns[owner], spans.end_ns[owner])
    rank = np.unique(owner, return_inverse=True)[1]
    reached = running_most(rank, end)
    first = np.ones(len(owner), np.bool_)
    first[1:] = owner[1:] != owner[:-1]
    last = np.append(first[1:], True)[: len(owner)]
    before = np.where(first, spans.begin_ns[owner], np.roll(reached, 1))
    alone = np.setdiff1d(np.arange(len(spans)), owner)
    found = Intervals(
        np.concatenate([owner, owner[last], alone]),
        np.concatenate([before, reached[last], spans.begin_ns[alone]]),
        np.concatenate([begin, spans.end_ns[owner[last]], spans.end_ns[alone]]),
    )
    return found.chosen(found.end > found.begin)
