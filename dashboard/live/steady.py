"""The wall clock for how far back a picture reaches: one set an hour ahead would leave out all that viewers look at."""

import time


class SteadyClock:
    """A wall clock that does not follow where this process's own is set ahead; where it is set back it does."""

    def __init__(self) -> None:
        self._beyond_monotonic_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """Unix ns."""
        monotonic_ns = time.monotonic_ns()
        self._beyond_monotonic_ns = min(self._beyond_monotonic_ns, time.time_ns() - monotonic_ns)
        return monotonic_ns + self._beyond_monotonic_ns


clock = SteadyClock()
