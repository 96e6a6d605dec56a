"""The process that outlives the supervisor for a moment, to end what its death left behind.

The kernel kills our children when the supervisor dies, but not their children: a trainer of the demo, the shipper that
it started in a session of its own. All of them carry the supervisor's mark in their environment, and are found by it.
Run as a script of its own (standard library only); standard input is a pipe that ends when the supervisor does.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

MARK = "ROUNDWATCH_SUPERVISOR_MARK"
# One look may miss a process that is just being forked, or is between two programs and shows no environment.
_QUIET_LOOKS = 3


def marked(mark: str) -> list[int]:
    """Return the ids of all living processes started under the mark, ourselves and zombies excepted."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:  # gone, or another user's
                continue
            if wanted in environment.split(b"\0"):
                found.append(int(entry.name))
    return found


def end_all(mark: str, within_s: float) -> bool:
    """Kill every marked process until none is left; return whether that was so in time."""
    deadline = time.monotonic() + within_s
    quiet_looks = 0
    while quiet_looks < _QUIET_LOOKS:
        pids = marked(mark)
        quiet_looks = 0 if pids else quiet_looks + 1
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def main() -> None:
    """Wait for the supervisor's end, then end everything that bears its mark."""
    for polite in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(polite, signal.SIG_IGN)
    sys.stdin.buffer.read()
    end_all(sys.argv[1], within_s=10)


if __name__ == "__main__":
    main()
