"""The evidence of one cohort's phase, computed once: each worker against its peers and against itself.

Eligible are workers that did the phase and do not warm up. Missing data means: a worker that did not do the
phase is no reference; one that did far less than the others has skipped work and is none either; a worker
whose clock is too uncertain for what it waited for is compared, but not named.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ingest.detection import noise
from ingest.detection.columns import column_medians, lower_median
from ingest.detection.durations import Cohort
from ingest.detection.facts import Flags, Floats
from ingest.detection.straggler.compared import Compared, Row, with_itself, with_peers
from ingest.detection.straggler.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Context:
    """A cohort over its windows: who (column) was slow in which (row), and by which comparison.

    `slow` is the rule for one round, `slower` the milder one for what comes back, `by_itself` says that the
    comparison was with the worker's own past, `most` that most of the cohort was slow in that window.
    """

    cohort: Cohort
    policy: Policy
    least_z: float
    rows: tuple[Compared, ...]
    slow: Flags
    slower: Flags
    by_itself: Flags
    most: Flags

    def z_needed(self, row: Compared, *, lasting: bool) -> float:
        """The z that counts beside peers in a window."""
        return _lasting_z(row, self.policy) if lasting else _once_z(row, self.least_z, self.policy)


def build(cohort: Cohort, tests: int, frozen: Mapping[int, float], policy: Policy) -> Context:
    """Compare every window of `cohort`.

    `tests` is how many comparisons the judged window makes in all, `frozen` are baselines of open incidents
    in seconds, by lane.
    """
    cost = without_skipped(cohort.cost, policy)
    calm, healthy = cost.copy(), cost.copy()
    held = np.array([frozen.get(worker.lane, math.nan) for worker in cohort.workers])
    least_z = noise.least_z(tests, policy.least_z, policy.false_share)
    rows = []
    for at in range(len(cost)):
        row = Row(
            seconds=cohort.seconds[at], cost=cost[at], floor_s=_floor(cohort.round_s[at], policy), least_z=least_z
        )
        before = slice(max(0, at - policy.noise_rounds), at)
        rows.append(_compare(row, _Past(cost[before], calm[before], healthy[before], held), cohort.slack[at], policy))
        calm[at, rows[-1].grown] = math.nan
        healthy[at, rows[-1].slow] = math.nan
    return Context(
        cohort=cohort,
        policy=policy,
        least_z=least_z,
        rows=tuple(row.compared for row in rows),
        slow=np.stack([row.slow for row in rows]),
        slower=np.stack([row.slower for row in rows]),
        by_itself=np.stack([row.by_itself for row in rows]),
        most=np.array([row.most for row in rows]),
    )


def without_skipped(cost: Floats, policy: Policy) -> Floats:
    """Skipped work as absent: far below the cohort's lower median or, of two workers, far below its own past.

    (The lower median of two is the lesser one, which would make every slow worker's only peer a skipper.)
    """
    kept = np.where(cost > 0, cost, math.nan)
    for at in range(len(kept)):
        present = np.flatnonzero(np.isfinite(kept[at]))
        if len(present) == 2:
            past = kept[max(0, at - policy.own_rounds) : at]
            enough = np.isfinite(past).sum(axis=0) >= policy.known_rounds
            usual = np.where(enough, column_medians(past), 0.0)[present]
        else:
            usual = np.array([lower_median(kept[at, present])] if len(present) else [])
        kept[at, present[kept[at, present] < policy.skipped_share * usual]] = math.nan
    return kept


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    compared: Compared
    slow: Flags
    slower: Flags
    by_itself: Flags
    grown: Flags
    most: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Past:
    """Costs of earlier windows: all, without those that had grown, without those that were named; frozen baselines."""

    every: Floats
    calm: Floats
    healthy: Floats
    held: Floats


def _compare(row: Row, past: _Past, slack: Floats, policy: Policy) -> _Compared:
    peers = with_peers(row, past.every, past.healthy, policy)
    itself = with_itself(row, past.calm, past.held, policy)
    grown = itself.exceeds(ratio=policy.ratio, z=row.least_z, floor_s=row.floor_s, slack=slack)
    least_z, lasting_z = _once_z(peers, row.least_z, policy), _lasting_z(peers, policy)
    slow = peers.exceeds(ratio=policy.ratio, z=least_z, floor_s=row.floor_s, slack=slack)
    slower = peers.exceeds(ratio=policy.lasting_ratio, z=lasting_z, floor_s=row.floor_s, slack=slack)
    present = int(np.isfinite(row.cost).sum())
    if present <= policy.small_cohort:
        risen = itself.exceeds(ratio=policy.lasting_ratio, z=policy.lasting_z, floor_s=row.floor_s, slack=slack)
        slow &= risen | ~np.isfinite(itself.ratio)
    most = present >= 2 and int(grown.sum()) * 2 > present
    # Peers tell more than the past, where there are enough of them that are not slow themselves.
    by_itself = grown & ~slow & (present <= 2 or most)
    compared = itself if present < 2 else peers.chosen(itself, by_itself)
    return _Compared(compared, slow | by_itself, (slower & peers.known) | by_itself, by_itself, grown, most)


def _once_z(peers: Compared, least_z: float, policy: Policy) -> float:
    return float(least_z * peers.heavy**policy.heavy_power)


def _lasting_z(peers: Compared, policy: Policy) -> float:
    return policy.lasting_z * peers.heavy


def _floor(round_s: float, policy: Policy) -> float:
    return max(policy.floor_least_s, min(policy.floor_share * round_s, policy.floor_most_s))
