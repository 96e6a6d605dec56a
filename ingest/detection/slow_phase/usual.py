"""What the rounds before say of each phase: computed once a round, for an open phase is looked at many times."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ingest.detection import leaf, noise, straggler
from ingest.detection.columns import column_medians, median
from ingest.detection.durations import Cohort, CohortKey, cohort_of, cohorts
from ingest.detection.facts import Floats, History, Spans, Worker
from ingest.detection.slow_phase.policy import DEFAULT, Policy
from ingest.detection.straggler import context

Key = tuple[str, CohortKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """One phase of one cohort. Seconds; NaN where nothing is known.

    `rounds` is how many windows are known, `sigma` the noise of the logarithm, `heavy` how much farther than it says
    rare values lie, `count` how many durations `median_s` and `p95_s` are of. `repeats`: it comes several times a
    round, and these two are of one time. `last` are the lanes that did it in each of the last three windows known.
    `work` is each lane's work beside that of the others, where attributes tell.
    """

    lanes: frozenset[int]
    last: frozenset[int]
    rounds: int
    sigma: float
    heavy: float
    count: int
    median_s: float
    p95_s: float
    repeats: bool
    work: Mapping[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """All phases by (name, cohort); `round_s` is a typical round (NaN unknown); `after` what phases waited for."""

    phases: Mapping[Key, Before]
    round_s: float
    after: Mapping[str, str]

    def doing(self, phase: str) -> frozenset[int]:
        """The lanes, of any cohort, that did the phase in each of the last windows."""
        return frozenset(lane for (name, _), before in self.phases.items() if name == phase for lane in before.last)


NOTHING = Usual(phases={}, round_s=math.nan, after={})


def usual(history: History, policy: Policy = DEFAULT) -> Usual:
    """What `history`, which ends before the round that goes on, says of it."""
    if not history.windows:
        return NOTHING
    single = _single_times(history.spans)
    place = {worker.lane: worker for worker in history.workers}
    found: dict[Key, Before] = {}
    for cohort in cohorts(history):
        key = (cohort.phase, cohort_of(cohort.workers[0], cohort.kind))
        found[key] = _before(cohort, _of(cohort, key[1], history.spans, single, place), policy)
    spans = history.spans
    waited = np.unique(np.stack([spans.name, spans.after], axis=1)[spans.after >= 0], axis=0).tolist()
    return Usual(
        phases=found,
        round_s=float(np.median([window.round_s for window in history.windows[-policy.noise_rounds :]])),
        after={spans.names[name]: spans.names[after] for name, after in waited},
    )


def _before(cohort: Cohort, single: tuple[Floats, bool], policy: Policy) -> Before:
    cost = cohort.cost[-policy.noise_rounds :]
    rounds = int((np.isfinite(cost).sum(axis=1) >= 2).sum())
    times, repeats = single
    if not repeats:
        recent = cohort.cost[-policy.past_rounds :]
        times = recent[np.isfinite(recent)]
    work = column_medians(cohort.seconds / cohort.cost)
    # Those that were named would make noise of what is none.
    slow = context.build(cohort, len(cohort.workers), {}, straggler.DEFAULT).slow
    lanes = [worker.lane for worker in cohort.workers]
    always = np.all(np.isfinite(cohort.seconds[-3:]), axis=0)
    return Before(
        lanes=frozenset(lanes),
        last=frozenset(lane for place, lane in enumerate(lanes) if always[place]),
        rounds=rounds,
        sigma=noise.pooled(cost),
        heavy=noise.heaviness(np.where(slow[-policy.noise_rounds :], math.nan, cost)),
        count=len(times),
        median_s=median(times),
        p95_s=float(np.quantile(times, 0.95)) if len(times) else math.nan,
        repeats=repeats,
        work={lane: share for lane, share in zip(lanes, work.tolist(), strict=True) if math.isfinite(share)},
    )


def _single_times(spans: Spans) -> Floats:
    """Leaf seconds of each span by itself."""
    parts = leaf.pieces(spans, leaf.parents(spans))
    return np.bincount(parts.group, (parts.end - parts.begin) / 1e9, len(spans)).astype(np.float64)


def _of(
    cohort: Cohort, key: CohortKey, spans: Spans, single: Floats, workers: Mapping[int, Worker]
) -> tuple[Floats, bool]:
    """The times of a cohort's phase one by one, and whether it usually comes several times a round."""
    lanes = [lane for lane, worker in workers.items() if cohort_of(worker, cohort.kind) == key]
    own = np.isin(spans.lane, lanes) & (spans.name == spans.names.index(cohort.phase))
    if not own.any():
        return np.empty(0), False
    pairs, times = np.unique(np.stack([spans.lane[own], spans.round[own]]), axis=1, return_counts=True)
    return single[own], bool(pairs.shape[1]) and float(np.median(times)) > 1
