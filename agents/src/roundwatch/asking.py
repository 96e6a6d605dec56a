"""Takes the thread stacks of a training's process for the server: signals, and what the process writes within 1 s."""

import contextlib
import json
import logging
import os
import signal
import time
from pathlib import Path
from typing import Any

from roundwatch import slots, stack_text, stacks
from roundwatch.slots import Record
from roundwatch.stack_text import Thread
from roundwatch.stuck import MainThread

logger = logging.getLogger("roundwatch")
EVENT = "stacks"
PATIENCE_NS = 950_000_000
RESTS_NS = 60_000_000  # the dumper is done when nothing has come for so long
MOST_BYTES = 4 << 20
FILE = f"memfd:{stacks.NAME}"


class CannotTellError(Exception):
    """Why a process does not give its stacks, in words for people."""


class Asked:
    """One question to one process, and what came of it: stacks, or why there are none. Nothing of it raises.

    `offer` is what the process's ring says, `process` a descriptor by which no other process can ever be reached, None
    where it cannot be seen; `begun` is the record of the phase that began as `start`, None where it has ended.
    """

    def __init__(self, offer: stacks.Offer, pid: int, process: int | None, start: Any, begun: Record | None) -> None:
        self._folder, self._offer, self._process = Path(f"/proc/{pid}"), offer, process
        self._round = -1 if begun is None else begun.round
        self._beside: dict[str, Any] = {"start": start} if isinstance(start, int) else {}
        self._at_ns = self._came_ns = time.monotonic_ns()
        self._fd, self._size = -1, 0
        self._main = MainThread(self._folder)
        self._dumper, self._waker = stacks.signals(offer)  # 0 once they were sent
        self._failed, self._text = "", b""
        self._found: list[Thread] = []
        if start is not None and begun is None:
            self._failed = "the phase had ended when it was asked"
            return
        try:
            self._begin()
        except CannotTellError as error:
            self._failed = str(error)

    def over(self) -> bool:
        """Whether it has answered completely, or will not any more."""
        if not self._failed and not self._found:
            try:
                self._look()
                self._text = stack_text.attributes(self._found, self._beside) if self._found else b""
            except (CannotTellError, OSError) as error:
                self._failed = str(error)
            except Exception:
                logger.warning("what a process told of its stacks is not understood", exc_info=True)
                self._failed, self._found = "what it told is not understood", []
        return bool(self._failed or self._found)

    def event(self, name: int) -> Record:
        """The record that tells it; `name` is the stream's number for the name of it."""
        text = self._text or json.dumps({**self._beside, "failed": self._failed}).encode()
        return Record(-1, slots.EVENT, name, 0, 0, 0, 0, 0, self._round, -1, -1, self._at_ns, 0, text)

    def close(self) -> None:
        """Lets go of the file, and of the memory that it takes."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1

    def _begin(self) -> None:
        if self._offer[0] <= 0:
            raise CannotTellError(_reason(-self._offer[0]))
        if self._process is None:
            raise CannotTellError("the shipper that serves it cannot see it, from another container perhaps")
        try:
            self._fd = os.open(self._file(), os.O_RDWR | os.O_CLOEXEC)
            os.ftruncate(self._fd, 0)
            self._signal(stacks.SIGNAL)
        except OSError as error:
            raise CannotTellError(f"it cannot be reached: {error.strerror or error}") from error

    def _signal(self, number: int) -> int:
        """Sends one of its signals, as long as it is what it was. Returns 0."""
        self._file()
        if not stacks.caught(self._folder, number):
            raise CannotTellError("it has taken back what answers")
        if number != stacks.SIGNAL and self._main.blocks(number):  # another thread would take it, while Python runs
            raise CannotTellError(f"its main thread blocks signal {number}")
        if self._process is not None:
            signal.pidfd_send_signal(self._process, number)
        return 0

    def _file(self) -> Path:
        """Where it writes to. Its number may mean another file by now, into which the process would write."""
        path = self._folder / "fd" / str(self._offer[1])
        if FILE not in os.readlink(path):  # noqa: PTH115 - a name, not a path
            raise CannotTellError("it has closed the file that it would write to")
        return path

    def _look(self) -> None:
        """Finds what it wrote, once that is complete. Raises CannotTellError after a second without a word."""
        now, size = time.monotonic_ns(), os.fstat(self._fd).st_size
        if size != self._size:
            self._size, self._came_ns = size, now
        if not size and self._dumper and self._main.stuck():
            self._dumper = self._signal(self._dumper)
        text = os.pread(self._fd, MOST_BYTES, 0).decode(errors="replace") if size else ""
        self._found = stack_text.by_python(text)
        late = now - self._at_ns >= PATIENCE_NS
        if not self._found and (late or now - self._came_ns >= RESTS_NS):
            self._found = self._main_alone(text, late=late)
        if late and not self._found:
            standing = self._main.standing()
            raise CannotTellError(f"no answer within 1 s{standing and f': {standing}'}")

    def _main_alone(self, text: str, *, late: bool) -> list[Thread]:
        """The main thread by the dumper; nothing yet where Python can be had to tell of all threads."""
        found = stack_text.by_dumper(text)
        if found and self._waker and not late and stack_text.waits_for_a_lock(found[0]):
            self._waker = self._signal(self._waker)
            self._came_ns = time.monotonic_ns() + RESTS_NS
            return []
        if found:
            self._beside["only_main"] = True
        return found


def _reason(number: int) -> str:
    if not number:
        return "the Roundwatch in it does not answer yet"
    return stacks.WHY_NOT[number] if number < len(stacks.WHY_NOT) else stacks.WHY_NOT[0]
