"""The rules that are compared: ours, and three that come to mind first. Each names cells of windows x workers."""

from collections.abc import Callable, Sequence

import numpy as np

from ingest.detection.durations import Cohort
from ingest.detection.facts import Flags, Floats, Kind, Worker
from ingest.detection.straggler import context, rules
from ingest.detection.straggler.policy import DEFAULT, Policy

Rule = Callable[[Sequence[Floats], int], list[Flags]]


def ours(phases: Sequence[Floats], steps: int, policy: Policy = DEFAULT) -> list[Flags]:
    """Who is named in each window, slow in it alone or for some time. The first window is warm-up."""
    tests = sum(each.shape[1] for each in phases)
    round_s = sum(np.median(each, axis=1) for each in phases)
    found = []
    for each in phases:
        built = context.build(cohort(each, round_s), tests, {}, policy)
        named = rules.memberships(built) | built.slow
        found.append(np.concatenate([np.zeros_like(named[:1]), named]))
    return found


def twice_the_median(phases: Sequence[Floats], _steps: int) -> list[Flags]:
    """More than twice the median of all."""
    return [each > 2 * np.median(each, axis=1, keepdims=True) for each in phases]


def mad_z_score(phases: Sequence[Floats], _steps: int) -> list[Flags]:
    """More than 3.5 median absolute deviations above the median of all."""
    found = []
    for each in phases:
        middle = np.median(each, axis=1, keepdims=True)
        spread = 1.4826 * np.median(np.abs(each - middle), axis=1, keepdims=True)
        found.append(each - middle > 3.5 * spread)
    return found


def fastest_peer(phases: Sequence[Floats], _steps: int) -> list[Flags]:
    """More than half as long again as the fastest."""
    return [each > 1.5 * each.min(axis=1, keepdims=True) for each in phases]


RULES: dict[str, Rule] = {"2 x median": twice_the_median, "MAD z": mad_z_score, "fastest": fastest_peer}


def cohort(seconds: Floats, round_s: Floats) -> Cohort:
    """The windows of one phase but the first."""
    judged = seconds[1:]
    return Cohort(
        phase="phase",
        kind=Kind.COMPUTE,
        workers=tuple(Worker(lane=lane, name=f"rank-{lane}") for lane in range(judged.shape[1])),
        window=tuple(range(len(judged))),
        seconds=judged,
        cost=judged,
        slack=np.zeros_like(judged),
        round_s=np.asarray(round_s)[1:],
    )
