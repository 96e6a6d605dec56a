"""Python's full garbage collections: how long each one paused the process, and the memory before and after.

A collection may interrupt anything, our own writing included, so it is only noted when it happens and recorded at the
next round's boundary. Memory that falls at collections was held by reference cycles. What the process has from the
kernel need not fall then, for an allocator may keep it: what is in use is told as well, where the C library tells.
"""

import gc
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from roundwatch import allocated, slots
from roundwatch.attributes import attributes
from roundwatch.phases import Recorder
from roundwatch.samplers.memory import PROCESS_METRICS, process_memory

NAME = "gc"
MOST_NOTED = 64  # between two boundaries; the oldest go first, and are counted
FULL = 2


class Collections:
    """Listens to the collector from `listen` until `close`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._noted: deque[tuple[int, int, dict[str, Any]]] = deque(maxlen=MOST_NOTED)
        self._begun_ns = self._left_out = 0
        self._before: int | None = None
        self._allocated: Callable[[], int] | None = None
        self._allocated_before = 0

    def listen(self) -> None:
        """From now on."""
        self._allocated = allocated.reader()
        gc.callbacks.append(self._heard)

    def close(self) -> None:
        """Stops listening, and writes what was noted."""
        if self._heard in gc.callbacks:
            gc.callbacks.remove(self._heard)
        self.write()

    def write(self) -> None:
        """Records what was noted since the last time as events."""
        while self._noted:
            when, where, noted = self._noted.popleft()
            if self._left_out:
                noted["left_out"], self._left_out = self._left_out, 0
            ring = self._recorder.ring
            ring.put_text(attributes(noted), slots.head(slots.EVENT, ring.name(NAME)), where, -1, -1, when, 0)

    def _heard(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] != FULL or self._recorder.ring.silent:
            return
        if phase == "start":
            self._before = _memory()
            self._allocated_before = self._allocated() if self._allocated else 0
            self._begun_ns = time.monotonic_ns()
            return
        noted: dict[str, Any] = {"collected": info["collected"]}
        # A clock that went back meanwhile says nothing of how long it took.
        if (paused_ns := time.monotonic_ns() - self._begun_ns) >= 0:
            noted["seconds"] = paused_ns / 1e9
        memory = {"memory_before_bytes": self._before, "memory_after_bytes": _memory()}
        if self._allocated:
            memory |= {"allocated_before_bytes": self._allocated_before, "allocated_after_bytes": self._allocated()}
        noted |= {name: value for name, value in memory.items() if value is not None}
        self._left_out += len(self._noted) == MOST_NOTED
        self._noted.append((self._begun_ns, self._recorder.here().ground.where, noted))


def _memory() -> int | None:
    """Anonymous plus shared memory of this process in bytes; None where the kernel does not tell."""
    return next((int(reading.value) for reading in process_memory() if reading.metric == PROCESS_METRICS[0]), None)
