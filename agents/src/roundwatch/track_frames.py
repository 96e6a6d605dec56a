"""The variables of the functions that run now, by the identity of what they hold."""

import inspect
import sys
from types import FrameType
from typing import Any

MAX_FRAMES = 1_000


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
    """A function's local variables, read without leaving a copy behind.

    Before Python 3.13 a frame keeps the dict that it hands out, and with it everything in it, even what the function
    has deleted since: reading would retain what is looked for. It is filled anew whenever it is read.
    """
    names = frame.f_locals
    items = list(names.items())
    if type(names) is dict:
        names.clear()
    return items
