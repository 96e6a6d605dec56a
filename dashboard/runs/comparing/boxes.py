"""Distributions of what phases took, as boxes on one scale for each phase: shapes for SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.runs.comparing.figures import counted
from dashboard.runs.words import seconds
from ingest.detection.facts import Floats
from roundwatch.wire import KINDS

WIDTH = 420
HEIGHT = 18
MOST_PHASES = 40
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_LEAST = 1.5  # px, so that phases of one length are seen
_NOTHING_S = 1e-9  # less than clocks count


@dataclass(frozen=True, slots=True)
class Box:
    """One side's: `low` and `high` are the ends of its whisker, `x` and `width` its box, `middle` its median, in px."""

    side: str
    low: float
    high: float
    x: float
    width: float
    middle: float
    median: str
    says: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase with a box for each side that has it; its scale reaches from 0 to `most`."""

    name: str
    kind: str
    boxes: list[Box]
    most: str


# What a phase of this name took, one by one, in seconds, by the name of the side; and its kind.
Taken = Mapping[str, tuple[int, Mapping[str, Floats]]]


def phases(taken: Taken, sides: Sequence[str]) -> list[Phase]:
    """Phases by how much time a side spent in them at most, the longest first."""
    ordered = sorted(taken.items(), key=lambda pair: -max(float(each.sum()) for each in pair[1][1].values()))
    return [_phase(name, kind, by_side, sides) for name, (kind, by_side) in ordered[:MOST_PHASES]]


def _phase(name: str, kind: int, by_side: Mapping[str, Floats], sides: Sequence[str]) -> Phase:
    found = {side: np.quantile(by_side[side], _SHARES).tolist() for side in sides if side in by_side}
    most = max(quantiles[-1] for quantiles in found.values())
    scale = (WIDTH - _LEAST) / most if most > _NOTHING_S else 0.0
    boxes = [_box(side, quantiles, len(by_side[side]), scale) for side, quantiles in found.items()]
    return Phase(name, KINDS[kind] if 0 <= kind < len(KINDS) else "other", boxes, seconds(most))


def _box(side: str, quantiles: Sequence[float], count: int, scale: float) -> Box:
    low, first, middle, third, high = (round(one * scale, 2) for one in quantiles)
    told = [seconds(one) for one in quantiles]
    return Box(
        side=side, low=low, high=high, x=first, width=max(_LEAST, round(third - first, 2)), middle=middle,
        median=told[2],
        says=f"{side}: median {told[2]}, half of them {told[1]} to {told[3]}, nine in ten {told[0]} to {told[4]}, "
        f"{counted(count, 'phase')}",
    )  # fmt: skip
