"""One window's durations compared with a reference: with those of the peers, or with the worker's own past."""

import enum
import math
from dataclasses import dataclass, replace

import numpy as np

from ingest.detection import noise
from ingest.detection.columns import column_medians, median, newest
from ingest.detection.facts import Flags, Floats, Ints
from ingest.detection.straggler.policy import Policy


class Limit(enum.Enum):
    """Why a ratio can be too small to be named."""

    RULE = "the rule"  # which asks for no less
    NOISE = "noise"
    UNKNOWN = "noise that is not known yet"
    LENGTH = "a phase too short to matter"
    NOTHING = "nothing to compare with"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compared:
    """One value for each worker of the cohort; NaN where there is none.

    `reference` is in seconds as measured, `ratio` is for equal work, and `excess` what of its seconds a worker would
    not have taken for its own work at that. `sigma` is the noise of the
    logarithm, `known` whether it comes from earlier rounds, `heavy` how much farther than it says rare values lie,
    `smallest_ratio` the least that could have been named.
    """

    reference: Floats
    ratio: Floats
    excess: Floats
    z: Floats
    sigma: float
    smallest_ratio: float
    limit: Limit
    known: bool
    heavy: float = 1.0

    def exceeds(self, *, ratio: float, z: float, floor_s: float, slack: Floats) -> Flags:
        """Who reaches all three thresholds, clock errors `slack` (seconds) granted; what is not known is not."""
        return (self.ratio >= ratio) & (self.excess - slack >= floor_s) & (self.z >= z)

    def chosen(self, other: "Compared", flags: Flags) -> "Compared":
        """`other`'s comparison for the workers in `flags`, this one for the rest."""
        columns = ("reference", "ratio", "excess", "z")
        return replace(self, **{name: np.where(flags, getattr(other, name), getattr(self, name)) for name in columns})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """A window to compare: its durations in seconds, the same for equal `cost`, and what counts as noticeable."""

    seconds: Floats
    cost: Floats
    floor_s: float
    least_z: float


def with_peers(row: Row, past: Floats, healthy: Floats, policy: Policy) -> Compared:
    """Each worker against the lower median of the others.

    `past` are the costs of earlier windows, `healthy` the same without those of workers that were named.
    """
    present = np.flatnonzero(np.isfinite(row.cost))
    nothing = np.full(len(row.cost), math.nan)
    if len(present) < 2:
        return _uncompared(nothing)
    reference, ratio = nothing.copy(), nothing.copy()
    reference[present] = noise.references(row.seconds[present])
    ratio[present] = row.cost[present] / noise.references(row.cost[present])
    rounds = int((np.isfinite(past).sum(axis=1) >= 2).sum())
    sigma = noise.pooled(past) if rounds >= policy.known_rounds else math.nan
    known = math.isfinite(sigma)
    heavy = noise.heaviness(healthy) if known else 1.0
    z = _known_z(ratio, sigma, len(present) - 1, policy) if known else _early_z(row, ratio, present, policy)
    if not known and len(present) >= policy.early_cohort:
        sigma = noise.among(row.cost[present])
    least = replace(row, least_z=row.least_z * heavy**policy.heavy_power)
    smallest, limit = _smallest_of_peers(least, reference, sigma, len(present) - 1, policy, known=known)
    return Compared(
        reference=reference, ratio=ratio, excess=_excess(row, ratio), z=z, sigma=sigma, known=known,
        smallest_ratio=smallest, limit=limit, heavy=heavy,
    )  # fmt: skip


def with_itself(row: Row, past: Floats, frozen: Floats, policy: Policy) -> Compared:
    """Each worker against the median of its own last windows.

    `past` holds the costs of earlier windows in which it was not slow, `frozen` the baselines of incidents
    still open (NaN where there is none), which stay what they were before.
    """
    recent = newest(past, policy.own_rounds)
    count = np.isfinite(recent).sum(axis=0)
    usual = np.where(count >= policy.known_rounds, column_medians(recent), math.nan)
    usual = np.where(np.isfinite(frozen), frozen, usual)
    sigma = noise.own(past)
    spread = noise.spread(np.nan_to_num(sigma), np.maximum(count, 1).astype(float), policy.least_spread)
    ratio = row.cost / usual
    typical = median(np.where(np.isfinite(ratio), spread, math.nan))
    smallest, limit = math.nan, Limit.NOTHING
    if math.isfinite(typical):
        smallest, limit = _greatest(policy, noise_ratio=_reach(row.least_z * typical), floor_s=row.floor_s, usual=usual)
    return Compared(
        reference=usual, ratio=ratio, excess=_excess(row, ratio), z=np.log(ratio) / spread, sigma=median(sigma),
        smallest_ratio=smallest, limit=limit, known=True,
    )  # fmt: skip


def _uncompared(nothing: Floats) -> Compared:
    return Compared(
        reference=nothing, ratio=nothing, excess=nothing, z=nothing, sigma=math.nan, smallest_ratio=math.nan,
        limit=Limit.NOTHING, known=False,
    )  # fmt: skip


def _excess(row: Row, ratio: Floats) -> Floats:
    return row.seconds - row.seconds / ratio


def _known_z(ratio: Floats, sigma: float, peers: int, policy: Policy) -> Floats:
    spread = noise.spread(np.array(sigma), np.array(float(peers)), policy.least_spread)
    return (np.log(ratio) - noise.bias(peers) * sigma) / spread


def _early_z(row: Row, ratio: Floats, present: Ints, policy: Policy) -> Floats:
    """Before the noise is known: by the noise among this window's others or, of few, by a large ratio alone."""
    if len(present) < policy.early_cohort:
        return np.where(ratio >= policy.early_ratio, math.inf, -math.inf)
    z = np.full(len(ratio), math.nan)
    for column in np.flatnonzero(ratio >= policy.early_many_ratio).tolist():
        sigma = noise.among(row.cost[present[present != column]])
        z[column] = _known_z(ratio[column : column + 1], sigma, len(present) - 1, policy)[0]
    return z


def _smallest_of_peers(
    row: Row, reference: Floats, sigma: float, peers: int, policy: Policy, *, known: bool
) -> tuple[float, Limit]:
    if not math.isfinite(sigma):
        found = _greatest(policy, noise_ratio=policy.early_ratio, floor_s=row.floor_s, usual=reference)
        return found if found[1] == Limit.LENGTH else (found[0], Limit.UNKNOWN)
    spread = float(noise.spread(np.array(sigma), np.array(float(peers)), policy.least_spread))
    reach = _reach(row.least_z * spread + noise.bias(peers) * sigma)
    if not known and reach < policy.early_many_ratio:
        found = _greatest(policy, noise_ratio=policy.early_many_ratio, floor_s=row.floor_s, usual=reference)
        return found if found[1] == Limit.LENGTH else (found[0], Limit.UNKNOWN)
    return _greatest(policy, noise_ratio=reach, floor_s=row.floor_s, usual=reference)


def _greatest(policy: Policy, *, noise_ratio: float, floor_s: float, usual: Floats) -> tuple[float, Limit]:
    """The ratio that has to be reached on all counts, and which count it is."""
    limits = ((policy.ratio, Limit.RULE), (noise_ratio, Limit.NOISE), (1 + floor_s / median(usual), Limit.LENGTH))
    return max(limits, key=lambda limit: limit[0])


def _reach(exponent: float) -> float:
    # Beyond any ratio that could be meant, instead of an overflow.
    return math.exp(min(exponent, 50.0))
