"""How long each worker's phases took, window by window: what peers are compared by."""

from dataclasses import dataclass

import numpy as np

from ingest.detection import leaf
from ingest.detection.columns import group_medians, numbered
from ingest.detection.facts import Floats, History, Ints, Kind, Spans, Worker
from ingest.detection.intervals import Intervals
from ingest.detection.waits import counted_from

# Within these a worker blocks until the others come, so its own duration says nothing of its own speed.
RENDEZVOUS = frozenset({"allreduce", "allgather", "reducescatter", "broadcast", "send", "recv", "sync", "barrier"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cohort:
    """One phase of workers that do the same work: rows are windows (oldest first), columns are workers.

    `seconds` is leaf time that waited for nobody, `cost` the same for equal work (equal to it where
    attributes do not say otherwise), `slack` what clock errors make uncertain of it in seconds (infinite
    where a clock is unknown). NaN where a worker did not do the phase or warmed up. `window` is each row's
    place in the history: a window in which nobody did the phase has no row. `round_s` is each row's typical
    round in seconds.
    """

    phase: str
    kind: Kind
    workers: tuple[Worker, ...]
    window: tuple[int, ...]
    seconds: Floats
    cost: Floats
    slack: Floats
    round_s: Floats


# Role, group and, where data moves, site, or, where devices compute, their model: with the same, the same is expected.
CohortKey = tuple[str, str, str]


def cohort_of(worker: Worker, kind: Kind) -> CohortKey:
    """Which cohort a worker belongs to in phases of this kind."""
    if kind in (Kind.TRANSFER, Kind.APPLY):
        return (worker.role, worker.group, worker.site)
    return (worker.role, worker.group, worker.device if kind == Kind.COMPUTE else "")


def cohorts(history: History) -> list[Cohort]:
    """Every phase that may be judged, one cohort for each role, group and site or device model (see `cohort_of`)."""
    rows = _by_window(history, _measured(history))
    found = []
    for key in np.unique(np.stack([rows.name, rows.kind], axis=1), axis=0).tolist():
        own = (rows.name == key[0]) & (rows.kind == key[1])
        phase, kind = history.spans.names[key[0]], Kind(key[1])
        for members in _peers(history.workers, kind):
            lanes = np.array([worker.lane for worker in members], np.int64)
            chosen = rows.chosen(own & np.isin(rows.lane, lanes))
            if len(chosen.lane):
                found.append(_cohort(history, chosen, phase, kind, members))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    window: Ints
    lane: Ints
    name: Ints
    kind: Ints
    seconds: Floats
    slack: Floats
    items: Floats
    nbytes: Floats

    def chosen(self, flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> "_Rows":
        return _Rows(*(getattr(self, name)[flags] for name in self.__slots__))


def _measured(history: History) -> _Rows:
    """One row for each round (in `window`), worker, phase and kind: sums over the occurrences."""
    spans = history.spans
    around = leaf.parents(spans)
    kinds = leaf.kinds(spans, around)
    begin, slack = counted_from(spans, history.workers)
    seconds = own_seconds(spans, leaf.pieces(spans, around), begin)
    unjudged = np.array([name in RENDEZVOUS for name in spans.names], np.bool_)
    keep = np.flatnonzero((kinds != Kind.WAIT) & ~unjudged[spans.name])
    number, first = numbered(spans.round[keep], spans.lane[keep], spans.name[keep], kinds[keep])
    one = keep[first]
    worst = np.zeros(len(one))
    np.maximum.at(worst, number, slack[keep])

    def total(values: Floats) -> Floats:
        return np.bincount(number, values[keep], len(one)).astype(np.float64)

    return _Rows(
        spans.round[one], spans.lane[one], spans.name[one], kinds[one],
        total(seconds), worst, total(spans.items), total(spans.nbytes),
    )  # fmt: skip


def own_seconds(spans: Spans, parts: Intervals, begin: Ints) -> Floats:
    """Seconds of each span's leaf time `parts` from `begin` on, which is where it waits for nobody any more."""
    left = np.maximum(parts.end - np.maximum(parts.begin, begin[parts.group]), 0)
    return np.bincount(parts.group, left / 1e9, len(spans)).astype(np.float64)


def _by_window(history: History, rows: _Rows) -> _Rows:
    """Medians over the rounds of each window; rows of other rounds and of lanes that warm up are left out."""
    place = {index: at for at, window in enumerate(history.windows) for index in window.rounds}
    window = np.array([place.get(index, -1) for index in rows.window.tolist()], np.int64)
    cold = [lane in history.windows[at].cold for at, lane in zip(window.tolist(), rows.lane.tolist(), strict=True)]
    keep = (window >= 0) & ~np.array(cold, np.bool_)
    rows, window = rows.chosen(keep), window[keep]
    number, one = numbered(window, rows.lane, rows.name, rows.kind)

    def middle(values: Floats) -> Floats:
        return group_medians(number, values, len(one))

    return _Rows(
        window[one], rows.lane[one], rows.name[one], rows.kind[one],
        middle(rows.seconds), middle(rows.slack), middle(rows.items), middle(rows.nbytes),
    )  # fmt: skip


def _peers(workers: tuple[Worker, ...], kind: Kind) -> list[tuple[Worker, ...]]:
    found: dict[CohortKey, list[Worker]] = {}
    for worker in workers:
        found.setdefault(cohort_of(worker, kind), []).append(worker)
    return [tuple(members) for members in found.values()]


def _cohort(history: History, rows: _Rows, phase: str, kind: Kind, members: tuple[Worker, ...]) -> Cohort:
    lanes = np.unique(rows.lane)
    window, row = np.unique(rows.window, return_inverse=True)
    column = np.searchsorted(lanes, rows.lane)

    def matrix(values: Floats) -> Floats:
        filled = np.full((len(window), len(lanes)), np.nan)
        filled[row, column] = values
        return filled

    seconds = matrix(rows.seconds)
    return Cohort(
        phase=phase,
        kind=kind,
        workers=tuple(sorted((w for w in members if w.lane in set(lanes.tolist())), key=lambda w: w.lane)),
        window=tuple(window.tolist()),
        seconds=seconds,
        cost=for_equal_work(seconds, matrix(rows.items), matrix(rows.nbytes)),
        slack=matrix(rows.slack),
        round_s=np.array([history.windows[at].round_s for at in window.tolist()]),
    )


def for_equal_work(seconds: Floats, *amounts: Floats) -> Floats:
    """Seconds as if all had done the median amount, by the first amount that all of them state and that differs."""
    present = np.isfinite(seconds)
    for amount in amounts:
        stated = amount[present]
        if len(stated) and bool((stated > 0).all()) and stated.max() > 1.05 * stated.min():
            return seconds * (float(np.median(stated)) / amount)
    return seconds
