"""The small pictures in a row of the list, as shapes for SVG: the round times' curve and where the round went."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dashboard.runs.words import percent, seconds
from ingest.queries.run_list import RecentRound
from roundwatch.wire import KINDS

CURVE_WIDTH, CURVE_HEIGHT = 108, 24
BAR_WIDTH = 120
_MARGIN = 3
# A curve that spans less than this share of its median is drawn flatter, so that noise does not look like news.
_LEAST_SPREAD = 0.4


@dataclass(frozen=True, slots=True)
class Curve:
    """`points` as SVG's polyline wants them, `marks` where rounds with a finding are, `says` it in words."""

    points: str
    marks: list[tuple[float, float]]
    says: str


@dataclass(frozen=True, slots=True)
class Part:
    """One kind's piece of the bar, in the bar's own width."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Bar:
    """Pieces side by side; what no phase explains stays empty at the right."""

    parts: list[Part]
    says: str


def curve(rounds: Sequence[RecentRound], flagged: Collection[int]) -> Curve | None:
    """Return the wall times of `rounds` as a curve; None for fewer than two."""
    if len(rounds) < 2:
        return None
    walls = sorted(each.wall_s for each in rounds)
    low, high, middle = walls[0], walls[-1], walls[len(walls) // 2]
    spread = max(high - low, _LEAST_SPREAD * middle, 1e-9)
    bottom = (low + high - spread) / 2
    places = [
        (
            round(_MARGIN + (CURVE_WIDTH - 2 * _MARGIN) * number / (len(rounds) - 1), 1),
            round(CURVE_HEIGHT - _MARGIN - (CURVE_HEIGHT - 2 * _MARGIN) * (each.wall_s - bottom) / spread, 1),
        )
        for number, each in enumerate(rounds)
    ]
    return Curve(
        points=" ".join(f"{x},{y}" for x, y in places),
        marks=[place for place, each in zip(places, rounds, strict=True) if each.index in flagged],
        says=f"Last {len(rounds)} rounds: {seconds(low)} to {seconds(high)}, median {seconds(middle)}",
    )


def bar(shares: Sequence[float] | None) -> Bar | None:
    """Return the bar for shares of the wall time, one per wire.KINDS; None where they are not known."""
    if shares is None:
        return None
    # Clocks may differ by a little; the pieces never leave the bar.
    scale = BAR_WIDTH / max(1.0, sum(shares))
    parts, x = [], 0.0
    for kind, share in zip(KINDS, shares, strict=True):
        if share > 0:
            parts.append(Part(kind, round(x, 2), round(share * scale, 2)))
            x += share * scale
    named = [f"{kind} {percent(share)}" for kind, share in zip(KINDS, shares, strict=True) if share >= 0.005]
    return Bar(parts, ", ".join(named))
