"""The rule of the strip raster said plainly, and a named scenario to hold it against the page.

Per pixel the phase with the longest overlap wins, the later start of equal ones; failed wins over slow, slow over
healthy.
"""

import math
import random
from dataclasses import dataclass

SECOND = 1_000_000_000
HEALTHY, SLOW, FAILED = 0, 1, 2


@dataclass(frozen=True)
class Bar:
    """One ended phase; times in Unix ns, whole microseconds, as the feed carries them."""

    name: str
    begin_ns: int
    end_ns: int
    state: str = "ok"
    slow: bool = False
    thread: int = 0

    @property
    def rank(self) -> int:
        if self.state != "ok":
            return FAILED
        return SLOW if self.slow else HEALTHY


def busy_hour(start_ns: int) -> dict[str, list[Bar]]:
    """Four lanes: abutting phases, nested ones, many below a pixel, and failures, instants and overlaps.

    Bars of a lane are in the order in which they were recorded, by begin.
    """
    pick = random.Random(4)  # noqa: S311 - a scenario that is the same in every run

    def at(seconds: float) -> int:
        return start_ns + round(seconds * 1e6) * 1000

    abutting = [
        Bar(("train", "encode", "upload", "wait")[i % 4], at(i * 0.75), at((i + 1) * 0.75), slow=i == 9)
        for i in range(80)
    ]
    nested = [
        bar
        for i in range(20)
        for bar in (
            Bar("train", at(3 * i), at(3 * i + 2.9)),
            Bar("data", at(3 * i + 0.2), at(3 * i + 0.7)),
            Bar("forward", at(3 * i + 0.7), at(3 * i + 1.9)),
        )
    ]
    tiny, time_s = [], 0.0
    while time_s < 58:
        length = pick.choice((0.0004, 0.002, 0.011, 0.03))
        name = pick.choice(("forward", "backward", "allreduce", "optimizer"))
        tiny.append(Bar(name, at(time_s), at(time_s + length)))
        time_s += length + pick.choice((0, 0, 0.001, 0.05))
    mixed = [
        Bar("train", at(1), at(30)),
        Bar("save", at(5.0001), at(5.0002), state="error"),
        Bar("upload", at(8), at(26), thread=1),
        Bar("apply", at(31), at(31)),
        Bar("aggregate", at(40), at(44), state="aborted"),
        Bar("sync", at(42), at(50)),
    ]
    return {"a-abutting": abutting, "b-nested": nested, "c-tiny": tiny, "d-mixed": mixed}


def paint(bars: list[Bar], from_ns: int, to_ns: int, width: int) -> list[str | None]:
    """The name that each of `width` pixels between two times shows: a phase's, "failed", or None where nothing was."""
    per_pixel = (to_ns - from_ns) / width
    shown: list[str | None] = [None] * width
    points = [-1.0] * width
    for bar in sorted(bars, key=lambda bar: bar.begin_ns):
        left, right = (bar.begin_ns - from_ns) / per_pixel, (bar.end_ns - from_ns) / per_pixel
        first = math.floor(left)
        for pixel in range(max(0, first), min(width - 1, max(first, math.ceil(right) - 1)) + 1):
            earned = bar.rank * 2 + (min(right, pixel + 1) - max(left, pixel))
            if earned >= points[pixel]:
                points[pixel] = earned
                shown[pixel] = "failed" if bar.rank == FAILED else bar.name
    return shown
