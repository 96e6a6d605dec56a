"""The variables of the functions that run now, by the identity of what they hold."""

import inspect
import sys
from types import FrameType
from typing import Any

MAX_FRAMES = 1_000
LIVE_VIEWS = (3, 13)  # since then `f_locals` of a function is a view, and no dict is kept
# Where CPython keeps the dict: whether the frame only points to that part of it, and the word in it.
PLACES = {(3, 10): (False, 7), (3, 11): (True, 3), (3, 12): (True, 5)}
UNHELD = 3  # references to it: the frame's, our variable, and sys.getrefcount's own


def variables(own: str) -> dict[int, str]:
    """For what local variables hold: "function(): name"; without functions whose code lies below the folder `own`."""
    found: dict[int, str] = {}
    frames: list[FrameType | None] = list(sys._current_frames().values())  # noqa: SLF001 - the only door to them
    left = MAX_FRAMES
    while frames and left:
        left -= 1
        if (frame := frames.pop()) is not None:
            frames.append(frame.f_back)
            if frame.f_code.co_flags & inspect.CO_OPTIMIZED and not frame.f_code.co_filename.startswith(own):
                found.update((id(value), f"{frame.f_code.co_name}(): {name}") for name, value in local(frame))
    # This function's own frame was among them: what it still held would be a cycle that keeps what it saw.
    frames.clear()
    frame = None
    return found


def local(frame: FrameType) -> list[tuple[str, Any]]:
    """A function's local variables, read without leaving a copy behind and without a change to anybody's `locals()`.

    Before Python 3.13 a frame keeps the one dict that it hands out to all who ask, and with it everything in it, even
    what the function has deleted since: reading would retain what is looked for. And each reading fills it anew, which
    undoes what somebody has changed in it. So only a dict that reading has made is filled, and emptied again; of what
    was handed out before only that is told which it holds. Empty where this Python keeps its frames in another way.
    """
    if sys.version_info >= LIVE_VIEWS or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return list(frame.f_locals.items())  # a class's or a module's are its own variables
    try:
        names = _handed_out(frame)
    except Exception:  # noqa: BLE001 - a Python that is built otherwise, or without ctypes
        return []
    if names is not None and (names or sys.getrefcount(names) > UNHELD):
        return list(names.items())
    names = frame.f_locals
    items = list(names.items())
    if sys.getrefcount(names) <= UNHELD:  # else another thread has asked meanwhile
        names.clear()
    return items


def _handed_out(frame: FrameType) -> dict[str, Any] | None:
    """The dict that a function's frame has handed out before; None where it has not.

    Python has no call that tells, so the word is read that holds it. Raises LookupError where the two words before it
    are not what they must be, and KeyError or ImportError where that cannot be read.
    """
    import ctypes  # noqa: PLC0415 - few trainings use it

    if sys.implementation.name != "cpython":
        raise LookupError("another Python has other frames")
    within, number = PLACES[sys.version_info[:2]]
    word = ctypes.sizeof(ctypes.c_void_p)
    begin = id(frame)
    if within:
        begin = ctypes.c_void_p.from_address(begin + object.__basicsize__ + word).value or 0
    known = {ctypes.c_void_p.from_address(begin + (number - back) * word).value for back in (1, 2)}
    if known != {id(frame.f_globals), id(frame.f_builtins)}:
        raise LookupError("a frame of another kind")
    place = begin + number * word
    if not ctypes.c_void_p.from_address(place).value:
        return None
    found: Any = ctypes.py_object.from_address(place)
    names: dict[str, Any] = found.value
    return names
