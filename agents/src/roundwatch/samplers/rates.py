"""Counters as rates: what a number that only grows has grown by, per second, since it was last read."""

import time
from collections.abc import Callable, Hashable

Clock = Callable[[], float]
SELDOM_S = 4.0
EARLY_S = 0.25  # what is due a moment after a reading is read with it, or it would be late by a whole period


class Rates:
    """Remembers each counter's last reading, by a key of the caller's choice."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._before: dict[Hashable, tuple[float, float]] = {}

    def per_second(self, key: Hashable, count: float) -> float | None:
        """Growth per second since the last call for `key`; None the first time.

        A counter that went back was reset, and says nothing of the time between: None as well.
        """
        now = self._clock()
        before = self._before.get(key)
        self._before[key] = now, count
        if before is None or now <= before[0] or count < before[1]:
            return None
        return (count - before[1]) / (now - before[0])


class Due:
    """Whether what costs more than it tells at each reading is to be read now: at first, and then once a period.

    With `twice` also the second time: a rate is then known at the second reading already, as doctor wants it.
    """

    def __init__(self, period_s: float = SELDOM_S, clock: Clock = time.monotonic, *, twice: bool = False) -> None:
        self._period_s, self._clock = period_s, clock
        self._at_once = 2 if twice else 1
        self._at = 0.0

    def __call__(self) -> bool:
        now = self._clock()
        if not self._at_once and now < self._at - EARLY_S:
            return False
        self._at_once = max(0, self._at_once - 1)
        self._at = now + self._period_s
        return True
