"""Reads samplers again and again on a monotonic deadline that does not drift."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial

from roundwatch.samplers.base import Reading, Sampler

logger = logging.getLogger("roundwatch")
Emit = Callable[[list[Reading], int], None]


class SamplerLoop:
    """A thread that every `period_s` seconds reads all samplers and hands the readings to `emit`.

    `emit(readings, time_ns)` gets the monotonic time in nanoseconds at which the reading began; it is called
    from this thread, at most once a period, and not at all when nothing could be read. A sampler that fails
    is logged once for each new message and never stops another; nor does a failing `emit`.
    """

    def __init__(self, samplers: Iterable[Sampler], emit: Emit, period_s: float = 2.0) -> None:
        self._samplers = list(samplers)
        self._emit = emit
        self._period_s = period_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="roundwatch-samplers", daemon=True)
        self._told: dict[str, str] = {}

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Ends the thread; a reading in progress is finished first, for at most `timeout_s` seconds."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def tick(self) -> None:
        """One reading of all samplers, now."""
        time_ns = time.monotonic_ns()
        readings: list[Reading] = []
        for sampler in self._samplers:
            self._guard(sampler.name, partial(_read, sampler, readings))
        if readings:
            self._guard("emit", partial(self._emit, readings, time_ns))

    def _guard(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever one sampler trips over, the others go on
            self._tell(what, error)

    def _tell(self, what: str, error: Exception) -> None:
        message = repr(error)
        if self._told.get(what) != message:
            self._told[what] = message
            logger.warning("sampling: %s failed: %s", what, message)

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stopped.wait(next_delay(began, time.monotonic(), self._period_s)):
            self.tick()


def _read(sampler: Sampler, readings: list[Reading]) -> None:
    readings.extend(sampler.read())


def next_delay(began: float, now: float, period_s: float) -> float:
    """Seconds from `now` to the next deadline of the grid `began + k * period_s`;

    Missed deadlines are passed over.
    """
    return period_s - (now - began) % period_s
