"""Reads samplers again and again on a monotonic deadline that does not drift."""

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from roundwatch.samplers.base import Reading, Sampler
from roundwatch.samplers.hand import Answer, Hand
from roundwatch.samplers.steady import Steadied

logger = logging.getLogger("roundwatch")
Emit = Callable[[list[Reading], int], None]
PERIOD_S, SHORTEST_S, LONGEST_S = 2.0, 0.5, 10.0
PATIENCE_S = 0.25
STUCK_S = 10.0


class SamplerLoop:
    """A thread that every `period_s` seconds has all samplers read, and hands the readings to `emit`.

    `emit(readings, time_ns)` gets the monotonic time in nanoseconds at which the reading began; it is called
    from this thread, at most once a period, and not at all when nothing could be read. Each sampler reads in a
    thread of its own: what has not answered within `patience_s` is told with the next reading, at its time, which is at
    most a period later, unless that one tells the same anew; one that hangs is not asked again before it has answered.
    What is steady is told when it changes. What fails or hangs is logged once for each new message, and never stops
    another; nor does a failing `emit`.
    """

    def __init__(
        self, samplers: Iterable[Sampler], emit: Emit, period_s: float = PERIOD_S, patience_s: float = PATIENCE_S
    ) -> None:
        self._hands = [Hand(sampler) for sampler in samplers]
        self._emit, self._steadied = emit, Steadied()
        self._period_s, self._patience_s = period_s, patience_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="roundwatch-samplers", daemon=True)
        self._told: dict[str, str] = {}

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """Ends the threads; a reading in progress is finished first, for at most `timeout_s` seconds.

        A sampler that hangs is left behind: its thread ends with the process.
        """
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        deadline = time.monotonic() + self._patience_s
        for hand in self._hands:
            hand.close(max(0.0, deadline - time.monotonic()))

    def tick(self) -> None:
        """One reading of all samplers, now."""
        time_ns = time.monotonic_ns()
        late = [hand.answer(0.0) for hand in self._hands]
        for hand in self._hands:
            hand.ask()
        deadline = time.monotonic() + self._patience_s
        readings: list[Reading] = []
        for hand, before in zip(self._hands, late, strict=True):
            told = self._understood(hand, before), self._understood(hand, hand.answer(deadline))
            readings += _newest(*told) if told[0] else told[1]
        if readings := self._steadied.new(readings):
            self._hand_over(readings, time_ns)

    def _understood(self, hand: Hand, answer: Answer | None) -> list[Reading]:
        if isinstance(answer, Exception):
            self._tell(hand.sampler.name, f"failed: {answer!r}")
            return []
        if answer is None and hand.waited_s > STUCK_S:
            self._tell(hand.sampler.name, "does not answer")
        return answer or []

    def _hand_over(self, readings: list[Reading], time_ns: int) -> None:
        try:
            self._emit(readings, time_ns)
        except Exception as error:  # noqa: BLE001 - the next reading may be taken
            self._tell("emit", f"failed: {error!r}")

    def _tell(self, what: str, message: str) -> None:
        if self._told.get(what) != message:
            self._told[what] = message
            logger.warning("sampling: %s %s", what, message)

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stopped.wait(next_delay(began, time.monotonic(), self._period_s)):
            self.tick()


def _newest(before: list[Reading], now: list[Reading]) -> list[Reading]:
    """Both, each metric once."""
    return list({(reading.metric, reading.device, reading.source): reading for reading in (*before, *now)}.values())


def period(environment: Mapping[str, str] = os.environ) -> float:
    """Seconds between two readings: what ROUNDWATCH_SAMPLE_S says within half a second and ten, else two."""
    try:
        asked = float(environment.get("ROUNDWATCH_SAMPLE_S") or PERIOD_S)
    except ValueError:
        return PERIOD_S
    return min(max(asked, SHORTEST_S), LONGEST_S) if math.isfinite(asked) else PERIOD_S


def next_delay(began: float, now: float, period_s: float) -> float:
    """Seconds from `now` to the next deadline of the grid `began + k * period_s`;

    Missed deadlines are passed over.
    """
    return period_s - (now - began) % period_s
