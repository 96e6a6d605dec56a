"""The wall clock for how far back a picture reaches: one set an hour ahead would leave out all that viewers look at."""

import time

_BELIEVED_AFTER_NS = 30 * 60 * 10**9  # longer than a picture reaches back


class SteadyClock:
    """A wall clock that follows this process's own at once where it is set back, and late where it is set ahead.

    A jump ahead is believed when it has lasted: then it was a machine that had slept, or a clock put right.
    """

    def __init__(self) -> None:
        self._beyond_ns = time.time_ns() - time.monotonic_ns()
        self._ahead_since_ns: int | None = None

    def now_ns(self) -> int:
        """Unix ns."""
        monotonic_ns = time.monotonic_ns()
        beyond_ns = time.time_ns() - monotonic_ns
        if beyond_ns <= self._beyond_ns:
            self._ahead_since_ns = None
        elif self._ahead_since_ns is None:
            self._ahead_since_ns = monotonic_ns
        if self._ahead_since_ns is None or monotonic_ns - self._ahead_since_ns >= _BELIEVED_AFTER_NS:
            self._beyond_ns, self._ahead_since_ns = beyond_ns, None
        return monotonic_ns + self._beyond_ns


clock = SteadyClock()
