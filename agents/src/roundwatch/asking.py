"""Takes the thread stacks of a training's process for the server: a signal, and what the process writes within 1 s."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from roundwatch import slots, stack_text, stacks
from roundwatch.slots import Record

EVENT = "stacks"
PATIENCE_NS = 950_000_000
RESTS_NS = 60_000_000  # a dump is over when nothing has come for so long
MOST_BYTES = 4 << 20
FILE = f"memfd:{stacks.NAME}"
STATES = {"T": "it is stopped", "t": "a debugger holds it", "D": "it waits in the kernel, for a disk or a device"}


class CannotTellError(Exception):
    """Why a process does not give its stacks, in words for people."""


class Asked:
    """One question to one process, and what came of it: stacks, or why there are none. Nothing of it raises.

    `offer` is what the process's ring says, `process` a descriptor by which no other process can ever be reached, None
    where it cannot be seen; `begun` is the record of the phase that began as `start`, None where it has ended.
    """

    def __init__(self, offer: stacks.Offer, pid: int, process: int | None, start: Any, begun: Record | None) -> None:
        self._folder, self._main = Path(f"/proc/{pid}"), offer[2]
        self._round = -1 if begun is None else begun.round
        self._beside = {"start": start} if isinstance(start, int) else {}
        self._at_ns = self._came_ns = time.monotonic_ns()
        self._fd, self._size = -1, 0
        self._failed = ""
        self._found: stack_text.Found = {}
        if start is not None and begun is None:
            self._failed = "the phase had ended when it was asked"
            return
        try:
            self._signal(offer, process)
        except CannotTellError as error:
            self._failed = str(error)

    def over(self) -> bool:
        """Whether it has answered completely, or will not any more."""
        if not self._failed and not self._found:
            try:
                self._found = self._read()
            except (CannotTellError, OSError) as error:
                self._failed = str(error)
        return bool(self._failed or self._found)

    def event(self, name: int) -> Record:
        """The record that tells it; `name` is the stream's number for the name of it."""
        if self._found:
            text = stack_text.attributes(self._found, self._main, self._beside)
        else:
            text = json.dumps({**self._beside, "failed": self._failed}).encode()
        return Record(-1, slots.EVENT, name, 0, 0, 0, 0, 0, self._round, -1, -1, self._at_ns, 0, text)

    def close(self) -> None:
        """Lets go of the file, and of the memory that it takes."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1

    def _signal(self, offer: stacks.Offer, process: int | None) -> None:
        number, fd, _ = offer
        if number <= 0:
            raise CannotTellError(_reason(-number))
        if process is None:
            raise CannotTellError("the shipper that serves it cannot see it, from another container perhaps")
        try:
            # Its number may mean another file by now, which the process would write into.
            path = self._folder / "fd" / str(fd)
            if FILE not in os.readlink(path):  # noqa: PTH115 - a name, not a path
                raise CannotTellError("it has closed the file that it would write to")
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if number != stacks.SIGNAL or not stacks.caught(self._folder):
                raise CannotTellError("it has taken back what answers")
            os.ftruncate(self._fd, 0)
            signal.pidfd_send_signal(process, number)
        except OSError as error:
            raise CannotTellError(f"it cannot be reached: {error.strerror or error}") from error

    def _read(self) -> stack_text.Found:
        """What it wrote, once that is complete; empty before. Raises CannotTellError after a second without a word."""
        now, size = time.monotonic_ns(), os.fstat(self._fd).st_size
        if size != self._size:
            self._size, self._came_ns = size, now
        late = now - self._at_ns >= PATIENCE_NS
        if not late and (not size or now - self._came_ns < RESTS_NS):
            return {}
        text = os.pread(self._fd, MOST_BYTES, 0).decode(errors="replace")
        if not late and not stack_text.whole(text, self._main):
            return {}
        found = stack_text.threads(text)
        if not found:
            raise CannotTellError(f"no answer within 1 s{self._standing()}")
        return found

    def _standing(self) -> str:
        """What keeps it from answering, where the kernel knows."""
        try:
            letter = (self._folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            return ""
        return f": {STATES[letter]}" if letter in STATES else ""


def _reason(number: int) -> str:
    if not number:
        return "the Roundwatch in it does not answer yet"
    return stacks.WHY_NOT[number] if number < len(stacks.WHY_NOT) else stacks.WHY_NOT[0]
