"""When an open phase has lasted too long: from the peers that have finished it, else from the rounds before.

Eligible to set a limit are peers of the same cohort that ended the phase in this round: half of them, and at
least two (the one peer of a pair). Where fewer have, the last rounds of the cohort do; where those say nothing
either, only the absolute cap counts, and the limit says so.
"""

import enum
import math
from dataclasses import dataclass

from ingest.detection import noise
from ingest.detection.columns import lower_median
from ingest.detection.facts import Floats
from ingest.detection.slow_phase.policy import Policy
from ingest.detection.slow_phase.usual import Before


class Basis(enum.Enum):
    """What a limit was taken from."""

    PEERS = "peers"
    PAST = "the rounds before"
    CAP = "nothing to compare with"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds after which an open phase is suspect, slow and stalled.

    `reference_s` is what it is compared with (NaN under the cap alone); `finished` of `peers` have ended it,
    the last of them after `latest_s`.
    """

    suspect_s: float
    slow_s: float
    stalled_s: float
    reference_s: float
    basis: Basis
    finished: int
    peers: int
    latest_s: float


def limits(
    finished: Floats, peers: int, before: Before | None, round_s: float, policy: Policy, *, work: float = 1.0
) -> Limits:
    """The limits for one worker.

    `finished` are the seconds of the peers that ended the phase in this round, `peers` how many there are,
    `round_s` a typical round (NaN unknown), `work` this worker's work beside theirs. Slow is the
    greater of ratio x reference and reference + `allowance`.
    """
    basis, usual, ratio = _compared(finished, peers, before, policy)
    reference = work * usual
    slow = _limit(reference, ratio, allowance(round_s, policy), policy)
    if basis is Basis.PEERS and peers <= policy.few_peers and before is not None and before.count >= policy.past_least:
        # Those of few that have finished are the quickest, and may be quick for once.
        slow = max(slow, policy.ratio * work * before.median_s)
    return Limits(
        suspect_s=min(_limit(reference, ratio, policy.suspect_s, policy), slow),
        slow_s=slow,
        stalled_s=_greater(policy.stalled_ratio * reference, slow + policy.stalled_s),
        reference_s=reference,
        basis=basis,
        finished=len(finished),
        peers=peers,
        latest_s=float(finished.max()) if len(finished) else math.nan,
    )


def needed(peers: int) -> int:
    """How many of so many peers must have ended a phase before they are a measure."""
    return 1 if peers == 1 else max(2, math.ceil(peers / 2))


def allowance(round_s: float, policy: Policy) -> float:
    """By how many seconds a phase must exceed its reference to be slow: a share of a typical round, bounded."""
    share = policy.slow_share * round_s if math.isfinite(round_s) else 0.0
    return min(max(policy.slow_least_s, share), policy.slow_most_s)


def _compared(finished: Floats, peers: int, before: Before | None, policy: Policy) -> tuple[Basis, float, float]:
    """What it is compared with: the seconds of equal work there, and the factor allowed."""
    repeats = before is not None and before.repeats
    if peers and not repeats and len(finished) >= needed(peers):
        return Basis.PEERS, lower_median(finished), _ratio(finished, peers, before, policy)
    if before is not None and before.count >= policy.past_least:
        tail = policy.past_tail * before.p95_s / before.median_s if before.median_s else 0.0
        return Basis.PAST, before.median_s, max(policy.past_ratio, tail)
    return Basis.CAP, math.nan, math.nan


def _ratio(finished: Floats, peers: int, before: Before | None, policy: Policy) -> float:
    """By what factor; noise comes from earlier rounds or, of enough workers, from those that have finished."""
    if before is not None and before.rounds >= policy.known_rounds and math.isfinite(before.sigma):
        sigma = before.sigma
        # As for a phase that has ended: few peers are an uncertain measure, and rare values may lie far out.
        few = math.sqrt(1 + noise.MEDIAN_VARIANCE / len(finished))
        exponent = policy.sigmas * before.heavy**policy.heavy_power * few * sigma + noise.bias(len(finished)) * sigma
    elif peers + 1 >= policy.early_cohort:
        exponent = policy.sigmas * noise.among(finished)
    else:
        return policy.early_ratio
    return max(policy.ratio, math.exp(min(exponent, 50.0)))


def _limit(reference: float, ratio: float, more: float, policy: Policy) -> float:
    if not math.isfinite(reference):
        return policy.cap_s
    return max(ratio * reference, reference + more)


def _greater(one: float, other: float) -> float:
    return other if math.isnan(one) else max(one, other)
