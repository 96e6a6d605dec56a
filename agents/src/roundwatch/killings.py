"""Whether the kernel has lately killed for want of memory where a training runs: why it may be gone without a word."""

import time
from pathlib import Path

from roundwatch.life import UNKNOWN
from roundwatch.samplers import hierarchy
from roundwatch.samplers.base import Paths, fields
from roundwatch.samplers.rates import Clock

LOOK_S = 10.0
# A process that is killed gives back its memory before it is gone: hundreds of GB take a while.
LATELY_S = 30.0


class Killings:
    """Counted where the process `pid` is when this begins: in its cgroup, else on the host as a whole."""

    def __init__(self, pid: int, paths: Paths, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._file, self._whose = _counter(pid, paths)
        self._count = self._read()
        self._at = self._looked = float("-inf")

    def look(self) -> None:
        """Notes what was counted, from time to time: that of a killing long ago is not taken for this one."""
        if self._clock() - self._looked >= LOOK_S:
            self._note()

    def reason(self) -> str:
        """Why the process, which is gone, may be: in words for people."""
        self._note()
        if self._clock() - self._at > LATELY_S:
            return UNKNOWN
        return f"out of memory: {UNKNOWN}, and the kernel has killed one of {self._whose} for want of memory"

    def _note(self) -> None:
        self._looked = self._clock()
        count = self._read()
        if self._count is not None and count is not None and count > self._count:
            self._at = self._looked
        self._count = self._count if count is None else count

    def _read(self) -> int | None:
        try:
            return fields(self._file.read_text())["oom_kill"]
        except (OSError, KeyError):
            return None


def _counter(pid: int, paths: Paths) -> tuple[Path, str]:
    """The file that counts, and whose killings it counts."""
    # Version 1 counts in the process's own group alone, version 2 in those above it as well.
    place = hierarchy.find(paths, pid, "memory")
    if place is not None:
        file = place.folder / ("memory.events" if place.unified else "memory.oom_control")
        if file.exists():
            return file, "its cgroup"
    return paths.proc / "vmstat", "this host"
