"""The slow-phase rule on a whole run of durations: who is called slow while a phase still runs, and after how long."""

import math
from collections.abc import Sequence

import numpy as np

from ingest.detection import noise
from ingest.detection.facts import Flags, Floats
from ingest.detection.slow_phase.limits import limits, needed
from ingest.detection.slow_phase.policy import DEFAULT
from ingest.detection.slow_phase.usual import Before
from ingest.detection.straggler import context
from ingest.detection.straggler.policy import DEFAULT as STRAGGLER
from tests.bench.judging_rules import cohort


def while_open(phases: Sequence[Floats], _steps: int) -> list[Flags]:
    """Who is slow in each window before the phase ends, all having begun it together. The first is warm-up."""
    round_s = np.asarray(sum(np.median(each, axis=1) for each in phases))
    tests = sum(each.shape[1] for each in phases)
    found = []
    for each in phases:
        named = np.zeros(each.shape, np.bool_)
        slow = context.build(cohort(each, round_s), tests, {}, STRAGGLER).slow
        for at in range(2, len(each)):
            first = max(1, at - DEFAULT.noise_rounds)
            before = _before(each[first:at], slow[first - 1 : at - 1])
            named[at] = _slow(each[at], before, float(np.median(round_s[first:at])))
        found.append(named)
    return found


def _before(past: Floats, slow: Flags) -> Before:
    recent = past[-DEFAULT.past_rounds :].ravel()
    return Before(
        lanes=frozenset(), last=frozenset(), rounds=len(past), sigma=noise.pooled(past),
        heavy=noise.heaviness(np.where(slow, math.nan, past)), count=len(recent), median_s=float(np.median(recent)),
        p95_s=float(np.quantile(recent, 0.95)), repeats=False, work={},
    )  # fmt: skip


def _slow(seconds: Floats, before: Before, round_s: float) -> Flags:
    """The limit changes with each peer that finishes; who is open when it is reached is slow."""
    order = np.argsort(seconds)
    ended = seconds[order]
    peers = len(seconds) - 1
    named = np.zeros(len(seconds), np.bool_)
    for finished in (0, *range(needed(peers), len(seconds))):
        since = ended[finished - 1] if finished else 0.0
        until = ended[finished] if finished >= needed(peers) else ended[min(needed(peers), peers)]
        reached = max(since, limits(ended[:finished], peers, before, round_s, DEFAULT).slow_s)
        if reached < until:
            named[order[finished:]] |= ended[finished:] > reached
    return named
