"""Whether a process's main thread is in a long call: only then its frames stand still while they are read."""

import time
from pathlib import Path

from roundwatch import stacks

STATE, USER, SYSTEM = 0, 11, 12  # positions in /proc/<pid>/stat behind the name
ASLEEP_NS = 100_000_000
MOST_TICKS = 5  # of CPU time, mostly 10 ms each
STANDINGS = {"T": "it is stopped", "t": "a debugger holds it", "D": "it waits in the kernel, for a disk or a device"}


class MainThread:
    """Watched from when it was sent SIGURG, which Python answers within a millisecond of running.

    So a main thread that has been sent it, and has slept on since or used CPU, and has not answered, runs no Python: it
    is in a call, or waits for the interpreter's lock. One that merely got no CPU may be anywhere.
    """

    def __init__(self, process: Path) -> None:
        self._process, self._task = process, process / "task" / process.name
        self._ticks = self._last = -1
        self._asleep_ns = 0

    def stuck(self) -> bool:
        """Whether it is known to be in a call. Asked again and again."""
        state, ticks = self._read()
        if not state or self._pending():
            return False
        now = time.monotonic_ns()
        if self._ticks < 0:
            self._ticks = ticks
        if state != "S" or ticks != self._last:
            self._asleep_ns = now
        self._last = ticks
        return now - self._asleep_ns >= ASLEEP_NS or ticks - self._ticks >= MOST_TICKS

    def standing(self) -> str:
        """What keeps it from answering, in words; "" where that is not known."""
        state, _ = self._read()
        if state in STANDINGS:
            return STANDINGS[state]
        if self.blocks(stacks.SIGNAL):
            return "its main thread blocks SIGURG"
        return "its main thread got no CPU" if self._pending() or state == "R" else ""

    def blocks(self, number: int) -> bool:
        """Whether it lets a signal wait, which its process's other threads may then be given."""
        return stacks.caught(self._task, number, "SigBlk")

    def _pending(self) -> bool:
        return stacks.caught(self._task, stacks.SIGNAL, "ShdPnd") or stacks.caught(self._task, stacks.SIGNAL, "SigPnd")

    def _read(self) -> tuple[str, int]:
        """Its state and the ticks of CPU time that it has used; ("", 0) where it is gone."""
        try:
            words = (self._task / "stat").read_text(errors="replace").rpartition(")")[2].split()
            return words[STATE], int(words[USER]) + int(words[SYSTEM])
        except (OSError, ValueError, IndexError):
            return "", 0
