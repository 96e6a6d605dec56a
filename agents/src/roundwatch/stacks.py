"""How a training's process gives its thread stacks when it is asked: three signals, and a file in memory.

SIGURG has Python itself tell of all threads, as soon as the main thread comes to it. Where it does not, since it is in
a long call, the dumper's signal has CPython's faulthandler tell of the main thread, whose frames stand still then. Only
then: read while Python runs, frames that come and go end the process, other threads' most of all. And where that tells
that it waits for a lock of Python's, the third wakes it there, so that Python tells of all threads after all. Nothing
runs until a signal comes. SIGURG does nothing where nobody handles it: it cannot end a process by mistake.
"""

import fcntl
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

SIGNAL = signal.SIGURG
VARIABLE = "ROUNDWATCH_STACKS"
# In the ring's header stands the number of one of these, negative; the order may only grow.
WHY_NOT = (
    "it does not say why",
    f"{VARIABLE} is off",
    "something else in it handles SIGURG",
    "its run was not begun in its main thread, where alone signals can be handled",
    "its Python has no faulthandler, or its kernel no file in memory or no signal to spare",
)
SWITCHED_OFF, TAKEN, NOT_MAIN, IMPOSSIBLE = range(1, len(WHY_NOT))
NAME = "roundwatch-stacks"
OFF = ("0", "off", "no", "false")
BEGIN, END = "Told by Python:\n", "End of stacks\n"
MOST = 100  # threads, and frames of each; as many as CPython's own dumper tells
Offer = tuple[int, int, int]  # as the ring's header has it: SIGURG, the file's descriptor, the other `signals`
SHIFT = 8
HERE = (lambda: None).__code__.co_filename
REFUSED: Offer = (-TAKEN, 0, 0)


class _Given:
    """What this process has offered already, and as which process: a fork's child must not answer in its name."""

    def __init__(self) -> None:
        self.pid = 0
        self.offer: Offer = (0, 0, 0)


_given = _Given()


def offer() -> Offer:
    """Makes this process answer, once. The first word is the signal, or the number of why not, negative."""
    if _given.pid == os.getpid():
        return _given.offer if ours() else REFUSED
    if why := why_not():
        return (-why, 0, 0)
    try:
        import faulthandler  # noqa: PLC0415 - only where a run begins

        fd = os.memfd_create(NAME, os.MFD_CLOEXEC)
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)  # whoever reads it empties it
        dumper, waker = signals(_given.offer) if _given.pid else _spares()
        # Not chained: what would be called next is what this signal does by itself, which is to end the process.
        faulthandler.register(dumper, file=fd, all_threads=False, chain=False)
        signal.signal(waker, _wake)
        signal.signal(SIGNAL, _tell)
        signal.siginterrupt(SIGNAL, False)  # or calls of libraries would end early that do not expect it
    except (ImportError, AttributeError, OSError, RuntimeError, ValueError):
        return (-IMPOSSIBLE, 0, 0)
    _given.pid, _given.offer = os.getpid(), (SIGNAL, fd, dumper | waker << SHIFT)
    return _given.offer


def ours() -> bool:
    """Whether what this process offered still holds: none of the three signals has got another handler since."""
    if _given.pid != os.getpid():
        return True
    dumper, waker = signals(_given.offer)
    asked, woken, dumped = (signal.getsignal(number) for number in (SIGNAL, waker, dumper))
    return (
        asked is _tell and woken is _wake and not callable(dumped)
    )  # of the dumper's own handler Python knows nothing


def signals(offer: Offer) -> tuple[int, int]:
    """The dumper's signal, and the one that wakes the main thread from a wait for a lock."""
    return offer[2] & (1 << SHIFT) - 1, offer[2] >> SHIFT


def why_not() -> int:
    """The number of the reason why this process cannot answer; 0 where it can."""
    if os.environ.get(VARIABLE, "").strip().lower() in OFF:
        return SWITCHED_OFF
    if threading.current_thread() is not threading.main_thread():
        return NOT_MAIN
    return TAKEN if signal.getsignal(SIGNAL) is not _tell and caught(Path("/proc/self"), SIGNAL) else 0


def caught(process: Path, number: int, field: str = "SigCgt") -> bool:
    """Whether a process, given by its folder in /proc, handles a signal. False where that cannot be read.

    With another `field` whether it waits to be delivered ("ShdPnd"), is blocked ("SigBlk") or ignored ("SigIgn").
    """
    try:
        lines = (process / "status").read_text(errors="replace").splitlines()
        mask = next(line.split()[1] for line in lines if line.startswith(f"{field}:"))
        return bool(int(mask, 16) >> (number - 1) & 1)
    except (OSError, StopIteration, IndexError, ValueError):
        return False


def _spares() -> tuple[int, int]:
    """Two real-time signals that nothing handles, of those that are used least. Raises ValueError for want of them."""
    numbers = range(signal.SIGRTMAX - 1, signal.SIGRTMIN, -1)
    dumper, waker = [number for number in numbers if not caught(Path("/proc/self"), number)][:2]
    return dumper, waker


def _wake(_: int, __: FrameType | None) -> None:
    """Nothing: that it came is enough, for Python looks after its signals before it waits on."""


def _tell(_: int, frame: FrameType | None) -> None:
    """Writes the stacks of all threads, main thread first. Runs in the main thread, between two of its instructions."""
    try:  # nothing is called before: what is interrupted may be a frame below the limit of recursion
        if _given.pid == os.getpid():
            _write_all(_given.offer[1], frame)
    except Exception as error:
        trace = error.__traceback__
        while trace is not None:  # a handler of the training's own may have raised into ours: that is to pass on
            if trace.tb_frame.f_code.co_filename != HERE:
                raise
            trace = trace.tb_next


def _write_all(fd: int, frame: FrameType | None) -> None:
    os.write(fd, BEGIN.encode())
    this = threading.get_ident()
    others = [(ident, top) for ident, top in sys._current_frames().items() if ident != this]  # noqa: SLF001
    known = getattr(threading, "_active", {})  # its lock may be held by what we have interrupted
    parts = [_text("main", frame)]
    parts += [_text(getattr(known.get(ident), "name", ""), top) for ident, top in others[: MOST - 1]]
    os.write(fd, "".join([*parts, END]).encode("utf-8", "backslashreplace"))


def _text(name: str, frame: FrameType | None) -> str:
    """A thread as CPython's dumper would write it, with its name."""
    lines = [f"Thread [{name}] (most recent call first):"]
    while frame is not None and len(lines) <= MOST:
        code = frame.f_code
        lines.append(f'  File "{code.co_filename}", line {frame.f_lineno or 0} in {code.co_name}')
        frame = frame.f_back
    return "".join(f"{' '.join(line.splitlines())}\n" for line in lines)
