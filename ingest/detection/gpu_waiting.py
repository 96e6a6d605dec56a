"""What kept GPUs waiting: each trainer's time without compute, instant by instant given to what it was lost to.

A waiting instant of a trainer goes to its own phase or, where that waits (or where it is in no phase), to whatever is
on the critical path then. Eligible are the trainers that took part; one that recorded nothing waits all the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.detection.columns import numbered
from ingest.detection.critical_path import Graph, Segment
from ingest.detection.facts import Ints, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """GPU time lost to one phase of one worker, as sums over all trainers in nanoseconds.

    `own_ns` is that of the worker itself, `others_ns` that of the trainers that waited for it. A gap is the time
    before `phase`, or before the round's end where that is empty.
    """

    lane: int
    phase: str
    kind: int
    gap: bool
    own_ns: int
    others_ns: int

    @property
    def total_ns(self) -> int:
        """All of it."""
        return self.own_ns + self.others_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """`shares` in the order in which they were first lost to; they sum to `total_ns` exactly.

    `total_ns` is the wall time minus the union of compute leaf time, summed over `trainers`.
    """

    trainers: int
    total_ns: int
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Lost:
    """Rows of lost time: whose, since when, how long (nanoseconds), and to what: lane, name (-1: none), kind, gap."""

    trainer: Ints
    since: Ints
    length: Ints
    lane: Ints
    name: Ints
    kind: Ints
    gap: Ints


def attribute(graph: Graph, path: Sequence[Segment], trainers: Ints) -> Waiting:
    """Split the waiting time of `trainers` (lanes) over the phases of `graph` by `path`, its critical path."""
    lanes = np.unique(trainers)
    if not len(lanes) or not path:
        return Waiting(trainers=len(lanes), total_ns=0, shares=())
    lane, begin, end, piece = _stretches(graph, lanes)
    span = np.append(graph.span, -1)[piece]
    waits, kind = piece < 0, np.append(graph.kinds, -1)[span]
    own = ~waits & (kind != Kind.COMPUTE)
    name = np.append(graph.spans.name, -1)[span]
    itself = _Lost(lane[own], begin[own], (end - begin)[own], lane[own], name[own], kind[own], np.zeros_like(name[own]))
    rows = (itself, _on_path(graph, path, lane[waits], begin[waits], end[waits]))
    every = _Lost(*(np.concatenate([getattr(one, column) for one in rows]) for column in _Lost.__slots__))
    return Waiting(trainers=len(lanes), total_ns=int(every.length.sum()), shares=_shares(graph, every))


def _shares(graph: Graph, lost: _Lost) -> tuple[Share, ...]:
    number, one = numbered(lost.lane, lost.name, lost.gap)
    first = np.full(len(one), graph.end_ns)
    np.minimum.at(first, number, lost.since)
    own, others = np.zeros(len(one), np.int64), np.zeros(len(one), np.int64)
    of_itself = lost.trainer == lost.lane
    np.add.at(own, number[of_itself], lost.length[of_itself])
    np.add.at(others, number[~of_itself], lost.length[~of_itself])
    names = (*graph.spans.names, "")
    return tuple(
        Share(
            lane=int(lost.lane[one[at]]), phase=names[int(lost.name[one[at]])], kind=int(lost.kind[one[at]]),
            gap=bool(lost.gap[one[at]]), own_ns=int(own[at]), others_ns=int(others[at]),
        )
        for at in np.argsort(first, kind="stable").tolist()
    )  # fmt: skip


def _stretches(graph: Graph, lanes: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The round of each lane as disjoint stretches (lane, begin, end) and the piece that each belongs to, -1 for none.

    Of several threads at once a computing one counts, else the one that began last.
    """
    pieces = np.flatnonzero((graph.key < 0) & np.isin(graph.lane, lanes))
    computing = graph.kinds[graph.span[pieces]] == Kind.COMPUTE
    # Compute counts as recorded: GPU waiting is what it leaves, whatever it may have waited for itself.
    since = np.where(computing, graph.begin[pieces], graph.start[pieces])
    # Places in the order of time, for times themselves may be years apart.
    time, place = np.unique(
        np.concatenate([[graph.begin_ns, graph.end_ns], since, graph.end[pieces]]), return_inverse=True
    )
    first, last = place[2 : 2 + len(pieces)], place[2 + len(pieces) :]
    width = len(time)
    base = np.searchsorted(lanes, graph.lane[pieces]) * width
    whole = np.arange(len(lanes)) * width
    cuts = np.unique(np.concatenate([whole + place[0], whole + place[1], base + first, base + last]))
    lowest, highest = np.searchsorted(cuts, base + first), np.searchsorted(cuts, base + last)
    order = np.lexsort((graph.start[pieces], computing))
    best = np.full(len(cuts), -1)
    row, stretch = spread(lowest[order], highest[order])
    np.maximum.at(best, stretch, row)
    same = cuts[:-1] // width == cuts[1:] // width
    lane = lanes[cuts[:-1][same] // width]
    begin, end = time[cuts[:-1][same] % width], time[cuts[1:][same] % width]
    return lane, begin, end, np.append(pieces[order], -1)[best[:-1][same]]


def _on_path(graph: Graph, path: Sequence[Segment], lane: Ints, begin: Ints, end: Ints) -> _Lost:
    """Each stretch, cut where the path goes on, with what was on the path then."""
    bounds = np.array([*(one.begin_ns for one in path), path[-1].end_ns], np.int64)
    row, segment = spread(np.searchsorted(bounds, begin, "right") - 1, np.searchsorted(bounds, end, "left"))
    since = np.maximum(begin[row], bounds[segment])
    span = np.array([one.span for one in path], np.int64)[segment]
    return _Lost(
        lane[row], since, np.minimum(end[row], bounds[segment + 1]) - since,
        np.array([one.lane for one in path], np.int64)[segment], np.append(graph.spans.name, -1)[span],
        np.append(graph.kinds, -1)[span], np.array([one.gap for one in path], np.int64)[segment],
    )  # fmt: skip


def spread(lowest: Ints, highest: Ints) -> tuple[Ints, Ints]:
    """Every (row, number) with lowest[row] <= number < highest[row]."""
    count = np.maximum(highest - lowest, 0)
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + lowest[row]
