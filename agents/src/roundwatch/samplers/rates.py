"""Counters as rates: what a number that only grows has grown by, per second, since it was last read."""

import time
from collections.abc import Callable, Hashable

Clock = Callable[[], float]


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
