"""Which rounds are judged together: one, or as many short ones as fill ten seconds; and who still warms up in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ingest.detection.facts import Window

FILLS_S = 10.0
TYPICAL_OF = 20  # so many of the newest rounds say how long a typical one is
STEP_S = 2.0  # a round that is typically shorter is an optimizer step, and warms up as one
WARMUP_S = 10.0
WARMUP_STEPS = 20
# Sizes that windows may have: few, so that the same rounds stay together while their length varies a little.
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A closed round in its newest generation; times are Unix nanoseconds.

    `begun` maps each attempt that took part to (lane, its own begin).
    """

    index: int
    begin_ns: int
    end_ns: int
    begun: Mapping[int, tuple[int, int]]

    @property
    def wall_s(self) -> float:
        """How long it lasted, in seconds."""
        return (self.end_ns - self.begin_ns) / 1e9


def size_of(walls_s: Sequence[float]) -> int:
    """How many rounds make a window, from the wall times of the newest ones in seconds."""
    typical = max(median(walls_s), 1e-3) if walls_s else FILLS_S
    needed, scale = FILLS_S / typical, 1
    while True:
        for step in _STEPS:
            if step * scale >= needed:
                return step * scale
        scale *= 10


def first_of(index: int, size: int) -> int:
    """The first round of the window that round `index` belongs to."""
    return index // size * size


def windows(past: Sequence[Past], size: int, *, older: bool) -> tuple[Window, ...]:
    """The windows that `past` (by index) makes, oldest first.

    `older` says that there were rounds before these: attempts in the first of them began before.
    """
    cold = _cold(past, older=older)
    found: dict[int, list[Past]] = {}
    for one in past:
        found.setdefault(first_of(one.index, size), []).append(one)
    return tuple(
        Window(
            rounds=tuple(one.index for one in members),
            end_ns=max(one.end_ns for one in members),
            round_s=median(one.wall_s for one in members),
            cold=frozenset(lane for one in members for lane in cold[one.index]),
        )
        for members in found.values()
    )


def _cold(past: Sequence[Past], *, older: bool) -> dict[int, set[int]]:
    """For each round the lanes whose attempt warms up in it: its first round or, of steps, its first while."""
    steps = bool(past) and median(one.wall_s for one in past) < STEP_S
    first: dict[int, tuple[int, int]] = {}
    if older and past:
        first = dict.fromkeys(past[0].begun, (-WARMUP_STEPS, 0))
    found: dict[int, set[int]] = {one.index: set() for one in past}
    for place, one in enumerate(past):
        for attempt, (lane, begin_ns) in one.begun.items():
            first_place, first_ns = first.setdefault(attempt, (place, begin_ns))
            # Both have to pass, as in any benchmark: seconds for the machine, steps for the code.
            early = begin_ns - first_ns < WARMUP_S * 1e9 or place - first_place < WARMUP_STEPS
            if place == first_place or (steps and early):
                found[one.index].add(lane)
    return found
