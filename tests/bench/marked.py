"""Processes of one side, whoever started them: those whose environment holds its mark; they can be made to pause."""

import contextlib
import os
import signal
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


class Marked:
    """All processes that inherited `variable`=`value`.

    `cpu` is seconds of user and system time by process when it was looked at last, also of those that ended since.
    """

    def __init__(self, variable: str, value: str) -> None:
        self._mark = f"{variable}={value}".encode()
        self.cpu: dict[int, float] = {}

    def living(self) -> set[int]:
        """Their numbers now; one that ended and was not waited for is none."""
        return {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._has_mark(entry)}

    def _has_mark(self, entry: Path) -> bool:
        try:
            return self._mark in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            return False

    def look(self, pids: set[int] | None = None) -> set[int]:
        """Notes what they have used up to now, of `pids` where they are known; returns who lives."""
        living = self.living() if pids is None else pids
        for pid in living:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
                self.cpu[pid] = sum(map(int, fields[11:13])) / _TICK
        return living

    def send(self, number: signal.Signals) -> None:
        """Sends all of them that signal, also those that were started meanwhile."""
        sent: set[int] = set()
        while new := self.living() - sent:
            for pid in new:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            sent |= new

    def leave(self, seconds: float) -> None:
        """Waits so long for the last of them to end by itself, then kills who is left."""
        deadline = time.monotonic() + seconds
        while self.look() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.send(signal.SIGKILL)
