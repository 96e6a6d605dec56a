"""Communication of one round: how much of it moves data, how much of that hides behind compute, and what it means.

C is the union of a trainer's compute leaf time, K that of its transfers without what they waited (of a collective of
all with all that is `d - min d`, which no clock tells). Eligible are the trainers that took part. Missing data means:
where all workers are on one machine, or machines are not known, there are no transfers between nodes and no share of
them; without transfers there is no overlap; a collective of which a part is missing counts as transfer all along.
"""

from dataclasses import dataclass

import numpy as np

from ingest.detection import anatomy
from ingest.detection.critical_path import Graph
from ingest.detection.facts import Flags, Floats, Ints, Kind, Worker
from ingest.detection.gpu_waiting import Share, Waiting
from ingest.detection.intervals import Intervals, lengths

# Parts of the GPU waiting, in the order in which pages tell them.
PARTS = ("encode", "transfer", "coordinator", "apply", "gap", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Where the bands of the communication-to-computation ratio of the planning rule begin; shares of the wall time."""

    healthy: float = 0.15  # below it
    alarming: float = 0.30  # above it


DEFAULT = Policy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Communication:
    """Means over the trainers of a round; None where a figure has no meaning, and `abstained` says why.

    `comm_share` = |K| / wall and `exposed_share` = |K minus C| / wall count transfers between nodes only; `overlap` =
    |C and K| / |K| and `ratio` = |K| / |C| count all. `exchange_share` is the GPU waiting where nothing but `train`
    computes. `band` is healthy, elevated, alarming, or overlapped where the two shares are in different bands.
    `waiting_s` are the mean seconds of GPU waiting by part: encode, transfer, coordinator, apply, gap, other.
    """

    comm_share: float | None
    exposed_share: float | None
    overlap: float | None
    ratio: float | None
    exchange_share: float | None
    band: str | None
    waiting_s: dict[str, float]
    abstained: str = ""


def measure(
    graph: Graph, workers: tuple[Worker, ...], trainers: Ints, waiting: Waiting, policy: Policy = DEFAULT
) -> Communication:
    """The figures of the round of `graph`; `waiting` is its GPU waiting by cause."""
    lanes = np.unique(trainers)
    wall = graph.end_ns - graph.begin_ns
    if not len(lanes) or wall <= 0:
        return _nothing("no trainer took part")
    kinds = graph.kinds[graph.span]
    piece = graph.key < 0
    moves = piece & (kinds == Kind.TRANSFER)
    compute = _intervals(graph, graph.begin, piece & (kinds == Kind.COMPUTE))
    moving = _moving_from(graph, workers, lanes)
    every = _covered(compute, _intervals(graph, moving, moves), lanes)
    far = between_nodes(workers)
    between = _covered(compute, _intervals(graph, moving, moves & far[graph.lane]), lanes)
    apart = bool(far[lanes].any())
    share, exposed = (between.moved / wall, between.exposed / wall) if apart else (None, None)
    return Communication(
        comm_share=share,
        exposed_share=exposed,
        overlap=1 - every.exposed / every.moved if every.moved else None,
        ratio=every.moved / every.computed if every.computed else None,
        exchange_share=_exchange(graph, kinds[piece], piece, waiting, wall),
        band=_band(share, exposed, policy),
        waiting_s=split(waiting, workers),
        abstained="" if apart else "no two workers are known to be on different machines",
    )


def split(waiting: Waiting, workers: tuple[Worker, ...]) -> dict[str, float]:
    """The mean seconds of GPU waiting by part; they sum to it."""
    coordinators = {worker.lane for worker in workers if worker.role == "coordinator"}
    found = dict.fromkeys(PARTS, 0.0)
    for share in waiting.shares:
        found[_part(share, coordinators)] += share.total_ns / waiting.trainers / 1e9
    return found


def between_nodes(workers: tuple[Worker, ...]) -> Flags:
    """For each lane whether another worker is known to be on another machine than it."""
    machines = {worker.lane: worker.machine for worker in workers}
    known = set(machines.values()) - {""}
    count = 1 + max(machines, default=-1)
    return np.array([bool(machines.get(lane)) and len(known) > 1 for lane in range(count)], np.bool_)


@dataclass(frozen=True, slots=True)
class _Covered:
    """Mean nanoseconds of a trainer."""

    computed: float
    moved: float
    exposed: float


def _moving_from(graph: Graph, workers: tuple[Worker, ...], lanes: Ints) -> Ints:
    """Of each node from when on it moves data: durations tell of a collective, clocks of all else."""
    ranks = [worker for worker in workers if worker.lane in set(lanes.tolist())]
    spans = graph.spans
    told = (spans.begin_ns + anatomy.waiting_ns(spans, ranks))[graph.span]
    found = np.where(anatomy.of_all(spans)[graph.span], np.maximum(graph.begin, told), graph.start)
    return np.minimum(found, graph.end)


def _intervals(graph: Graph, begin: Ints, rows: Flags) -> Intervals:
    return Intervals(graph.lane[rows], begin[rows], graph.end[rows])


def _covered(compute: Intervals, moves: Intervals, lanes: Ints) -> _Covered:
    both = Intervals(
        *(np.concatenate([getattr(one, name) for one in (compute, moves)]) for name in Intervals.__slots__)
    )
    computed: Floats = lengths(compute, lanes).astype(np.float64)
    exposed = lengths(both, lanes) - computed
    return _Covered(float(computed.mean()), float(lengths(moves, lanes).mean()), float(exposed.mean()))


def _exchange(graph: Graph, kinds: Ints, piece: Flags, waiting: Waiting, wall: int) -> float | None:
    names = {graph.spans.names[name] for name in np.unique(graph.spans.name[graph.span[piece]][kinds == Kind.COMPUTE])}
    return waiting.total_ns / waiting.trainers / wall if names == {"train"} else None


def _band(share: float | None, exposed: float | None, policy: Policy) -> str | None:
    if share is None or exposed is None:
        return None
    bands = [
        "healthy" if each < policy.healthy else "alarming" if each > policy.alarming else "elevated"
        for each in (share, exposed)
    ]
    return bands[0] if bands[0] == bands[1] else "overlapped"


def _part(share: Share, coordinators: set[int]) -> str:
    if share.gap:
        return "gap"
    if share.lane in coordinators:
        return "coordinator"
    return {int(Kind.ENCODE): "encode", int(Kind.TRANSFER): "transfer", int(Kind.APPLY): "apply"}.get(
        share.kind, "other"
    )


def _nothing(why: str) -> Communication:
    return Communication(
        comm_share=None, exposed_share=None, overlap=None, ratio=None, exchange_share=None, band=None,
        waiting_s=dict.fromkeys(PARTS, 0.0), abstained=why,
    )  # fmt: skip
