"""The figures of one round: where its trainers' time went, what was explained, and how long GPUs waited."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.detection import anatomy, leaf
from ingest.detection.facts import Ints, Kind, Spans, Worker
from ingest.detection.intervals import Intervals, lengths


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFigures:
    """Means over the trainers of a round; None where it has no trainer or no length.

    `coverage` is the share of the wall that any phase covers, waits included; `gpu_waiting_share` that in
    which no compute phase runs; `kind_seconds` the leaf seconds of each kind, in the order of `Kind`. `items` is no
    mean: what all trainers together say that they worked on, None where no phase says it.
    """

    trainers: int
    coverage: float | None
    gpu_waiting_share: float | None
    kind_seconds: tuple[float, ...] | None
    items: float | None = None


def figures(
    spans: Spans, trainers: Ints, begin_ns: int, end_ns: int, ranks: Sequence[Worker] = (), index: int | None = None
) -> RoundFigures:
    """Figures of the round [begin_ns, end_ns) from its `spans`; `trainers` are the lanes that took part.

    What of a collective one of `ranks` only waited, as its durations tell, is waiting and not transfer. With `index`,
    that of the round, only its own spans' items count, and not those of neighbours that reach into it.
    """
    lanes = np.unique(trainers)
    wall = end_ns - begin_ns
    if not len(lanes) or wall <= 0:
        return RoundFigures(trainers=len(lanes), coverage=None, gpu_waiting_share=None, kind_seconds=None)
    around = leaf.parents(spans)
    kinds = leaf.kinds(spans, around)
    parts = leaf.pieces(spans, around)
    moves = (spans.begin_ns + anatomy.waiting_ns(spans, ranks))[parts.group]
    lane = spans.lane[parts.group]
    of_kind = np.concatenate([kinds[parts.group], np.full(len(lane), Kind.WAIT)])
    by_lane = Intervals(
        np.concatenate([lane, lane]),
        np.concatenate([np.maximum(parts.begin, moves), parts.begin]),
        np.concatenate([parts.end, np.minimum(parts.end, moves)]),
    ).clipped(begin_ns, end_ns)
    whole = Intervals(spans.lane, spans.begin_ns, spans.end_ns).clipped(begin_ns, end_ns)
    seconds = [float(lengths(by_lane.chosen(of_kind == kind), lanes).mean()) / 1e9 for kind in Kind]
    return RoundFigures(
        trainers=len(lanes),
        coverage=float(lengths(whole, lanes).mean()) / wall,
        gpu_waiting_share=1 - seconds[Kind.COMPUTE] * 1e9 / wall,
        kind_seconds=tuple(seconds),
        items=_items(spans.chosen(spans.round == index) if index is not None else spans, lanes),
    )


def _items(spans: Spans, lanes: Ints) -> float | None:
    """Of each lane those of the phase name that says most: input and step may both count the same samples."""
    told = np.flatnonzero(~np.isnan(spans.items) & np.isin(spans.lane, lanes))
    if not len(told):
        return None
    pairs, place = np.unique(np.stack([spans.lane[told], spans.name[told]]), axis=1, return_inverse=True)
    sums = np.bincount(place.ravel(), weights=spans.items[told])
    return float(sum(sums[pairs[0] == lane].max() for lane in np.unique(pairs[0])))
