"""What is wrong in a training's call: said once in its log, counted, and never raised into it."""

import functools
import signal
from collections.abc import Callable
from typing import Any, TypeVar, cast

from roundwatch.training_log import warn

F = TypeVar("F", bound=Callable[..., Any])
MOST_TOLD = 100
MAX_ERROR = 200


class _Known:
    """What was said already, and how much was left out; of this process."""

    def __init__(self) -> None:
        self.told: set[str] = set()
        self.left_out = 0


_known = _Known()


def tell_once(message: str) -> None:
    """One warning in the log for each different thing, however often it happens."""
    if message not in _known.told and len(_known.told) < MOST_TOLD:
        _known.told.add(message)
        warn("%s", message)


def leave_out(message: str) -> None:
    """Counts something that the training said and that is not recorded, and says why."""
    _known.left_out += 1
    tell_once(message)


def sum_up() -> None:
    """Says how much was left out since the last time, where it was more than the one that was told."""
    count, _known.left_out = _known.left_out, 0
    if count > 1:
        warn("%d things that the training told were left out; the reasons are above", count)


def harmless(otherwise: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Decorates a method that a training calls: whatever it is given, nothing is raised, wrong arguments included.

    `otherwise`, called with the same arguments, gives what the training gets then; without it that is None.
    """

    def decorate(call: F) -> F:
        @functools.wraps(call)
        def safely(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            except Exception as error:
                if not ours(error):
                    raise
                leave_out(f"a call of {call.__name__} is left out: {describe(error)}")
            return None if otherwise is None else otherwise(*args, **kwargs)

        return cast("F", safely)

    return decorate


def ours(error: BaseException) -> bool:
    """Whether an exception came of what we did; False where a signal handler raised it, as a timeout of the training's.

    Python runs such a handler between any two instructions, ours included: what it raises is meant for the training.
    """
    if isinstance(error, RecursionError):  # there is no room left to look
        return True
    handlers = [_code(signal.getsignal(number)) for number in signal.valid_signals()]
    trace = error.__traceback__
    while trace is not None:
        if any(trace.tb_frame.f_code is code for code in handlers):
            return False
        trace = trace.tb_next
    return True


def _code(handler: Any) -> Any:
    """The code that a handler begins with: a function's, a method's, a partial's or a callable object's; else None."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    code = getattr(handler, "__code__", None)  # a method has its function's
    return getattr(type(handler).__call__, "__code__", None) if code is None and callable(handler) else code


def describe(error: object) -> str:
    """An exception in one short line. Never raises."""
    try:
        return f"{type(error).__name__}: {error}"[:MAX_ERROR]
    except Exception:  # noqa: BLE001 - an exception whose own text cannot be had
        return type(error).__name__
