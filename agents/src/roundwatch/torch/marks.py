"""When something was done: by the host's clock, or, on a device, by events that are polled and never awaited.

A mark is taken where a part of the step begins or ends. The host's is a time at once. The device's is a CUDA event from
a pool: its time is known when a later poll finds it completed. Elapsed times between events are exact but say nothing
of the host's clock; two bounds tie them to it: no event completes before it was recorded, nor after it was found so.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from roundwatch.gathering import Collective
from roundwatch.torch.spans import Lane, Spans

MAX_WAITING = 4_096  # marks that the device has not reached: a step has seven
LAST_WAIT_S = 1.0


class HostMarks:
    """Marks of what the calling thread does itself."""

    def __init__(self, spans: Spans) -> None:
        self.where = spans.recorder.here
        self.now = time.monotonic_ns
        self.write = spans.write  # a call less for each part

    def poll(self) -> None:
        """Nothing waits here."""

    def settle(self) -> None:
        """Nothing waits here."""


class Mark:
    """One event on the device's stream; `at` is its time in nanoseconds of the monotonic clock, once it is known."""

    __slots__ = ("at", "event", "recorded_ns", "spans")

    def __init__(self, event: Any, recorded_ns: int) -> None:
        self.event, self.recorded_ns = event, recorded_ns
        self.at: int | None = None
        self.spans: list[tuple[int, Lane, Mark, Collective | None]] = []  # what ends here


class DeviceMarks:
    """Marks on the current stream of a device. `new_event` makes a timing event: torch.cuda.Event and its like.

    `capturing` says whether what is given to the stream is only captured, as a graph to be run later: nothing is marked
    then, and nothing polled, for asking an event would end the capture.
    """

    def __init__(self, spans: Spans, new_event: Callable[[], Any], capturing: Callable[[], bool]) -> None:
        self._spans, self._new_event, self._capturing = spans, new_event, capturing
        self.where = spans.on_device
        self._pool: list[Any] = []
        self._waiting: deque[Mark] = deque()
        self._last: Mark | None = None  # the newest whose time is known

    def now(self) -> Mark | None:
        """A mark behind what was given to the device so far; None where the device is too far behind, or captures."""
        if len(self._waiting) >= MAX_WAITING or self._capturing():
            return None
        event = self._pool.pop() if self._pool else self._new_event()
        mark = Mark(event, time.monotonic_ns())
        event.record()
        self._waiting.append(mark)
        return mark

    def write(
        self, head: int, lane: Lane, begin: Mark | None, end: Mark | None, collective: Collective | None = None
    ) -> None:
        """Records the phase between two marks as soon as a poll finds that it is over."""
        if begin is not None and end is not None:
            end.spans.append((head, lane, begin, collective))

    def poll(self) -> None:
        """Takes the times of what the device has reached. Waits for nothing."""
        if self._capturing():
            return
        while self._waiting and self._waiting[0].event.query():
            self._reached(self._waiting.popleft(), time.monotonic_ns())

    def settle(self) -> None:
        """At the end of the run, outside every step: gives the device a moment to reach the last marks."""
        deadline = time.monotonic() + LAST_WAIT_S
        self.poll()
        while self._waiting and time.monotonic() < deadline:
            time.sleep(0.005)
            self.poll()

    def _reached(self, mark: Mark, now: int) -> None:
        last, mark.at = self._last, mark.recorded_ns
        if last is not None and last.at is not None:
            mark.at = min(max(last.at + int(last.event.elapsed_time(mark.event) * 1e6), mark.recorded_ns), now)
            self._pool.append(last.event)
        self._last = mark
        for head, lane, begin, collective in mark.spans:
            if begin.at is not None:
                self._spans.write(head, lane, begin.at, mark.at, collective)
        mark.spans = []
