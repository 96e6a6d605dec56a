"""How a training's process ends, and what its run says then: at exit, on SIGTERM, on an exception, after a fork."""

import atexit
import os
import signal
import sys
import weakref
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from roundwatch.misuse import tell_once

if TYPE_CHECKING:
    from roundwatch.ring import Ring
    from roundwatch.run import Run


class _Watched:
    """The runs of this process that have not finished, and what has been hooked for them."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.rings: weakref.WeakSet[Ring] = weakref.WeakSet()
        self.hooked = False
        self.hook_before: Any = sys.excepthook


_watched = _Watched()


def watch(run: "Run", ring: "Ring") -> None:
    """Finishes `run` however the process ends, and silences `ring` in forked children."""
    _watched.runs.append(run)
    _watched.rings.add(ring)
    if not _watched.hooked:
        _watched.hooked = True
        atexit.register(finish_all)
        os.register_at_fork(after_in_child=_silence)
        _watched.hook_before, sys.excepthook = sys.excepthook, _excepthook
    _hook_sigterm()


def forget(run: "Run") -> None:
    """`run` has finished."""
    if run in _watched.runs:
        _watched.runs.remove(run)


def finish_all(state: str = "finished", error: BaseException | None = None) -> None:
    """Finishes every run of this process that has not finished."""
    for run in list(_watched.runs):
        run.finish(state, error=error)


def _hook_sigterm() -> None:
    """Only where SIGTERM does what it does by default: a training with a handler of its own goes on after it."""
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _on_sigterm)
    except ValueError:  # not the main thread, where alone handlers can be set
        tell_once("init was not called in the main thread: a run ended by SIGTERM will be said to be gone, not killed")


def _on_sigterm(number: int, _: FrameType | None) -> None:
    finish_all("killed")
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    # Ctrl-C is a person who ends the run, not a failure of it.
    finish_all("killed" if issubclass(kind, KeyboardInterrupt) else "failed", error)
    _watched.hook_before(kind, error, trace)


def _silence() -> None:
    """In a forked child (a data loader's worker): it is not this worker, so it says nothing and ends nothing."""
    for ring in list(_watched.rings):
        ring.silence()
    _watched.runs.clear()
    if signal.getsignal(signal.SIGTERM) is _on_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
