"""How a training's process gives its thread stacks when it is asked: CPython's own dumper, a signal, a file in memory.

Nothing of it runs until the signal comes, and then it runs whatever the process is in, a long call that holds the
interpreter's lock included. The signal is SIGURG: where nobody handles it, it does nothing, so that it cannot end a
process that the training started, or that has taken its place.
"""

import fcntl
import os
import signal
import sys
import threading
from pathlib import Path

SIGNAL = signal.SIGURG
VARIABLE = "ROUNDWATCH_STACKS"
# In the ring's header stands the number of one of these, negative; the order may only grow.
WHY_NOT = (
    "it does not say why",
    f"{VARIABLE} is off",
    "something else in it handles SIGURG",
    "its Python runs without a global lock, where other threads' stacks cannot be read",
    "its Python has no faulthandler, or the kernel no file in memory",
)
SWITCHED_OFF, TAKEN, FREE_THREADED, IMPOSSIBLE = range(1, len(WHY_NOT))
NAME = "roundwatch-stacks"
OFF = ("0", "off", "no", "false")
Offer = tuple[int, int, int]  # as the ring's header has it: signal, descriptor, main thread


class _Given:
    """What this process has offered already, and as which process: a fork's child must not answer in its name."""

    def __init__(self) -> None:
        self.pid = 0
        self.offer: Offer = (0, 0, 0)


_given = _Given()


def offer() -> Offer:
    """Makes this process answer, once. The first word is the signal, or the number of why not, negative."""
    if _given.pid == os.getpid():
        return _given.offer
    if why := why_not():
        return (-why, 0, 0)
    try:
        import faulthandler  # noqa: PLC0415 - only where a run begins

        fd = os.memfd_create(NAME, os.MFD_CLOEXEC)
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)  # whoever reads it empties it
        # Not chained: what would be called next is what ends other signals' processes.
        faulthandler.register(SIGNAL, file=fd, all_threads=True, chain=False)
    except (ImportError, AttributeError, OSError, RuntimeError):
        return (-IMPOSSIBLE, 0, 0)
    _given.pid, _given.offer = os.getpid(), (SIGNAL, fd, threading.main_thread().ident or 0)
    return _given.offer


def why_not() -> int:
    """The number of the reason why this process cannot answer; 0 where it can."""
    if os.environ.get(VARIABLE, "").strip().lower() in OFF:
        return SWITCHED_OFF
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return FREE_THREADED
    inherited = _given.pid != 0  # the handler that is there is the one of the process that forked
    return TAKEN if not inherited and caught(Path("/proc/self")) else 0


def caught(process: Path) -> bool:
    """Whether a process, given by its folder in /proc, handles the signal. False where that cannot be read."""
    try:
        lines = (process / "status").read_text(errors="replace").splitlines()
        mask = next(line.split()[1] for line in lines if line.startswith("SigCgt:"))
        return bool(int(mask, 16) >> (SIGNAL - 1) & 1)
    except (OSError, StopIteration, IndexError, ValueError):
        return False
