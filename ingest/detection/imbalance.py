"""Imbalance: a standing difference between groups of workers in one phase, which is one fact and no straggler.

Groups are cohorts of one role: pipeline stages, sites, device models. Eligible are phases that two or more cohorts did
in enough windows, warm-up left out. Missing data means: a window in which a cohort did not do the phase compares
nothing; with fewer windows than needed nothing is said.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.detection.columns import column_medians
from ingest.detection.durations import Cohort, cohort_of, cohorts
from ingest.detection.facts import Floats, History
from ingest.detection.verdicts import Verdict, fingerprint
from ingest.detection.wording import duration

KIND = "imbalance"
_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them."""

    ratio: float = 1.3  # of the slower cohort's median to the faster one's
    least_share: float = 0.05  # of the round: a smaller difference does not matter
    windows: int = 5  # that are needed
    standing: float = 0.8  # of the windows that must show it


DEFAULT = Policy()


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two cohorts of a phase; `slower` and `faster` seconds for each window that both did."""

    slow: Cohort
    fast: Cohort
    slower: Floats
    faster: Floats
    round_s: Floats

    @property
    def ratio(self) -> float:
        """How many times as long the slower one takes."""
        return float(np.median(self.slower) / np.median(self.faster))


def judge(history: History, policy: Policy = DEFAULT) -> tuple[Verdict, ...]:
    """One fact for each phase: its slowest cohort beside its fastest."""
    if len({(one.role, one.group, one.site, one.device) for one in history.workers}) <= len(
        {one.role for one in history.workers}
    ):
        return ()
    phases: dict[tuple[str, int, str], list[Cohort]] = {}
    for cohort in cohorts(history):
        phases.setdefault((cohort.phase, cohort.kind, cohort.workers[0].role), []).append(cohort)
    standing: dict[str, list[_Pair]] = {}
    for (phase, _, _), members in phases.items():
        pair = _extremes(members)
        if pair is not None and _stands(pair, policy):
            standing.setdefault(phase, []).append(pair)
    # Roles and kinds may share a phase's name: of that the greatest difference is told.
    return tuple(_verdict(history, max(pairs, key=lambda pair: pair.ratio)) for pairs in standing.values())


def name_of(cohort: Cohort) -> str:
    """What tells a cohort from its like: its device model or site, else its group."""
    _, group, other = cohort_of(cohort.workers[0], cohort.kind)
    return other or group or "the others"


def _extremes(members: Sequence[Cohort]) -> _Pair | None:
    usual = [(float(np.median(_medians(cohort))), cohort) for cohort in members]
    # Who leaves all of a phase to what is nested in it takes no time that others could take longer than.
    usual = [(seconds, cohort) for seconds, cohort in usual if seconds > 0]
    if not usual:
        return None
    slow, fast = (which(usual, key=lambda each: each[0])[1] for which in (max, min))
    shared, of_slow, of_fast = np.intersect1d(slow.window, fast.window, return_indices=True)
    if not len(shared) or slow is fast:
        return None
    return _Pair(slow, fast, _medians(slow)[of_slow], _medians(fast)[of_fast], slow.round_s[of_slow])


def _medians(cohort: Cohort) -> Floats:
    return column_medians(cohort.cost.T)


def _stands(pair: _Pair, policy: Policy) -> bool:
    if len(pair.slower) < policy.windows or not np.median(pair.faster) > 0:
        return False
    shown = (pair.slower >= policy.ratio * pair.faster) & (
        pair.slower - pair.faster >= policy.least_share * pair.round_s
    )
    return bool(shown.mean() >= policy.standing)


def _verdict(history: History, pair: _Pair) -> Verdict:
    slower, faster = float(np.median(pair.slower)), float(np.median(pair.faster))
    phase, windows = pair.slow.phase, history.windows
    return Verdict(
        kind=KIND,
        fingerprint=fingerprint(KIND, since=None, phase=phase),
        phase=phase,
        severity="info",
        observed=(
            f"{phase} takes {duration(slower)} on {name_of(pair.slow)} and {duration(faster)} on "
            f"{name_of(pair.fast)}, "
            f"{pair.ratio:.1f} times as long, in the last {len(pair.slower)} windows."
        ),
        hypothesis="",
        workers=tuple(worker.name for worker in pair.slow.workers[:_NAMED]),
        rounds=(),
        marks=(),
        opened_ns=windows[min(pair.slow.window)].end_ns,
        resolved_ns=None,
        evidence={
            "slower": name_of(pair.slow), "slower_s": round(slower, 6), "faster": name_of(pair.fast),
            "faster_s": round(faster, 6), "windows": len(pair.slower), "workers": len(pair.slow.workers),
        },
    )  # fmt: skip
