"""Comparing sides of runs: a median with its interval, and whether a difference may be called a speed-up.

Eligible are the closed rounds of each run, warm-up left out. Missing data means: a run with fewer than `LEAST_ROUNDS`
of them cannot be compared, a condition that a run did not tell is not known to be equal, and a side of one run was not
repeated; each refuses the speed-up, and all that do are told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

LEVEL = 0.95
# Fewer have no interval of their median at that level: even from least to greatest it misses in 1 of 16.
LEAST_ROUNDS = 6
LEAST_RUNS = 2


class Why(Enum):
    """What a comparison is refused for."""

    CONDITIONS = "conditions differ"
    UNKNOWN = "conditions are not known"
    NOT_REPEATED = "not repeated"
    FEW_ROUNDS = "too few rounds"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no speed-up; `names` are those of conditions, of runs or of sides, as `why` says."""

    why: Why
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timed:
    """A run's rounds in seconds."""

    name: str
    seconds: Sequence[float]


@dataclass(frozen=True, slots=True)
class Side:
    """Runs that are the same thing tried again."""

    name: str
    runs: Sequence[Timed]


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How many times as fast `side` is as `base`: the median round of its runs' medians.

    From `least` to `most` are all pairs of a run of one side and a run of the other: of two or three runs nothing
    narrower can be said without a guess at how runs spread.
    """

    base: str
    side: str
    ratio: float
    least: float
    most: float

    @property
    def within_spread(self) -> bool:
        """Whether some pair of runs says the contrary: then there is no difference beyond that of equal runs."""
        return self.least <= 1 <= self.most


@dataclass(frozen=True, slots=True)
class Verdict:
    """Either what was gained, of each side but the first, or why that is not said."""

    speed_ups: tuple[SpeedUp, ...]
    refusals: tuple[Refusal, ...]


def judge(sides: Sequence[Side], differing: Sequence[str], unknown: Sequence[str]) -> Verdict:
    """Compare each side with the first; `differing` and `unknown` name conditions that nobody declared comparable."""
    once = [side.name for side in sides if len(side.runs) < LEAST_RUNS]
    short = [run.name for side in sides for run in side.runs if len(run.seconds) < LEAST_ROUNDS]
    found = ((Why.CONDITIONS, differing), (Why.UNKNOWN, unknown), (Why.NOT_REPEATED, once), (Why.FEW_ROUNDS, short))
    refusals = tuple(Refusal(why, tuple(names)) for why, names in found if names)
    if refusals or len(sides) < 2:
        return Verdict((), refusals)
    return Verdict(tuple(speed_up(sides[0], side) for side in sides[1:]), ())


def speed_up(base: Side, side: Side) -> SpeedUp:
    """How many times as fast; every run must have rounds, none of which may have taken no time."""
    was, now = (sorted(median(run.seconds) for run in each.runs) for each in (base, side))
    return SpeedUp(
        base=base.name, side=side.name, ratio=median(was) / median(now), least=was[0] / now[-1], most=was[-1] / now[0]
    )


def median_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """Order statistics between which the true median lies with at least `level`; None for too few values.

    They are the k-th smallest and the k-th greatest, with the greatest k for which P(Bin(n, 1/2) < k) is no more than
    (1 - level) / 2: whatever the distribution, but for independence (H. A. David and H. N. Nagaraja, Order Statistics,
    3rd edition, section 7.1).
    """
    count = len(values)
    place, ways, sum_, all_ = 0, 1, 1, 1 << count
    allowed = (1 - level) / 2
    while place < count // 2 and sum_ / all_ <= allowed:
        ways = ways * (count - place) // (place + 1)
        sum_ += ways
        place += 1
    if not place:
        return None
    ordered = sorted(values)
    return ordered[place - 1], ordered[count - place]
