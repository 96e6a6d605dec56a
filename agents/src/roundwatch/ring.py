"""The ring a training process writes its records into: memory that outlives it, without a lock or a system call.

The file lies on tmpfs and is allocated whole (a sparse one would kill the process with SIGBUS when tmpfs is full; a
disk-backed one stalls under writeback). Numbers are handed out by one counter, which is atomic; the number decides the
slot. Records without a text are written by whoever holds their number; a text is stored under a lock, so that the heap
fills in the order of the numbers and can be freed in that order. Where tmpfs has no room the ring is private memory
that the shipper opens through /proc: the same layout, but a process killed before the shipper looked takes it along.
"""

import itertools
import json
import mmap
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from roundwatch import layout, locks
from roundwatch.layout import SIZES, Sizes
from roundwatch.slots import LENGTH_BITS, SAMPLE_WORDS, WORDS

OTHER_NAME = "(other names)"
SILENT = -1  # a limit below every number: each write is refused
pack_into = WORDS.pack_into


class Ring:
    """The writer's side. `take` hands out the next number, `limit` is the first number that has no room.

    A number at or beyond `limit` may be written only if `room(number)` says so; otherwise it is lost, and counted.
    """

    __slots__ = (
        "__weakref__",
        "_fd",
        "_head",
        "_heap_at",
        "_heap_next",
        "_lock",
        "_lost_at",
        "_memory",
        "_names",
        "_names_end",
        "_sizes",
        "buffer",
        "limit",
        "mask",
        "page",
        "silent",
        "take",
        "where",
    )

    def __init__(self, memory: mmap.mmap, sizes: Sizes, fd: int = -1, where: str = "") -> None:
        self._memory, self._sizes, self._fd = memory, sizes, fd
        self.where = where
        self.page = memoryview(memory)[: layout.PAGE]
        self._head = self.page.cast("q")
        self.buffer = memoryview(memory)[sizes.slots_at : sizes.total]
        self.mask = sizes.slots - 1
        self.take = itertools.count().__next__
        self.limit = sizes.slots
        self.silent = False
        self._lock = threading.RLock()
        self._lost_at = layout.LOST
        self._names: dict[tuple[str, ...], int] = {}
        self._names_end = 0
        self._heap_at, self._heap_next = sizes.heap_at, 0
        self.name(OTHER_NAME)

    def put(self, head: int, where: int, start: int, parent: int, t0: int, t1: int) -> int:
        """Writes a record without a text. Returns its number, also where there was no room for it."""
        number = self.take()
        if number < self.limit or self.room(number):
            pack_into(self.buffer, (number & self.mask) << 6, head, where, start, parent, t0, t1, 0, number + 1)
        return number

    def put_sample(self, head: int, where: int, device: int, time_ns: int, value: float) -> None:
        """Writes a sample, whose value is a double."""
        number = self.take()
        if number < self.limit or self.room(number):
            at = (number & self.mask) << 6
            SAMPLE_WORDS.pack_into(self.buffer, at, head, where, device, 0, time_ns, value, 0, number + 1)

    def put_text(self, text: bytes, head: int, where: int, start: int, parent: int, t0: int, t1: int) -> int:
        """Writes a record with its text; `start` OWN_NUMBER stands for its own number. Returns its number."""
        if self.silent:
            return self.take()
        with self._lock:
            number = self.take()
            if number < self.limit or self.room(number):
                first = number if start == OWN_NUMBER else start
                at = (number & self.mask) << 6
                reference = self._store(text)
                pack_into(self.buffer, at, head, where, first, parent, t0, t1, reference, number + 1)
        return number

    def room(self, number: int) -> bool:
        """Whether the shipper has made room for `number` meanwhile; otherwise counts it as lost."""
        if self.silent:
            return False
        with self._lock:
            if self._head[layout.ORDERS]:
                self.silence()
                return False
            self.limit = self._head[layout.TAIL] + self._sizes.slots
            if number < self.limit:
                return True
            self._lose(number)
            return False

    def announce_steps(self) -> None:
        """Says that step records come. Until then older shippers, which an upgrade leaves running, may serve it."""
        if not self.silent:
            self._memory[len(layout.MAGIC) - 1] = layout.WITH_STEPS[-1]

    def name(self, *words: str) -> int:
        """The number of a name ("train"), or of a metric (name, unit, source), for this stream. From 1."""
        known = self._names.get(words)
        return known if known is not None else self._define(words)

    def progress(self, start: int, share: float) -> None:
        """Notes how much of the phase that began as `start` is done."""
        if not self.silent:
            at = layout.PROGRESS_AT + start % layout.PROGRESS_ENTRIES * layout.PROGRESS.size
            layout.PROGRESS.pack_into(self._memory, at, start + 1, share)

    def answers(self, offer: Sequence[int]) -> None:
        """Says how this process is asked for its thread stacks: what `stacks.offer` gives."""
        for at, word in enumerate(offer, layout.STACKS):
            self._head[at] = word

    def shipper_seen_ns(self) -> int:
        """The monotonic time at which a shipper last looked at this ring; 0 for never."""
        return self._head[layout.BEAT]

    def refused(self) -> bool:
        """Whether the server refuses the token, as far as the shipper knows."""
        return bool(self._head[layout.REFUSED])

    def taken(self, end: int) -> bool:
        """Whether the shipper has taken every number below `end`."""
        return self._head[layout.TAIL] >= end

    def close(self, state: str) -> None:
        """Says how it ended, which must be heard even if its record found no room, and refuses what comes yet."""
        if not self.silent:
            self.silence()
            self._head[layout.CLOSED] = 1 + layout.ENDS.index(state)
            if self.where:
                os.close(self._fd)  # and with it the lock that says that we write

    def silence(self) -> None:
        """Refuses every further write without a word: in a forked child, and when the run is gone."""
        self.silent = True
        self.limit = SILENT
        self._lock = threading.RLock()  # in a forked child the old one may be held by a thread that is not there

    def _define(self, words: tuple[str, ...]) -> int:
        with self._lock:
            number = len(self._names) + 1
            text = json.dumps(words).encode()
            end = self._names_end + layout.NAME.size + len(text)
            if self.silent or end > self._sizes.names or number > 0xFFFF:
                return 1
            at = layout.NAMES_AT + self._names_end
            layout.NAME.pack_into(self._memory, at, number, len(text))
            self._memory[at + layout.NAME.size : layout.NAMES_AT + end] = text
            self._names_end = end
            self._head[layout.NAMES_END] = end
            self._names[words] = number
            return number

    def _store(self, text: bytes) -> int:
        """Puts a text into the heap, whole. Returns its reference; where there is no room only the text is lost."""
        at, size = self._heap_next, self._sizes.heap
        if at % size + len(text) > size:
            at += size - at % size
        if at + len(text) > self._head[layout.HEAP_TAIL] + size:
            return layout.NO_TEXT
        begin = self._heap_at + at % size
        self._memory[begin : begin + len(text)] = text
        self._heap_next = at + len(text)
        return at << LENGTH_BITS | len(text)

    def _lose(self, number: int) -> None:
        """Counts a number that found no room: as part of the range before it, else as a new one."""
        now, head, at = time.monotonic_ns(), self._head, self._lost_at
        if number != head[at + 1]:
            following = layout.LOST + (at - layout.LOST + layout.LOST_WORDS) % layout.LOST_SPACE
            if head[following + 1] <= head[layout.TAIL]:  # the shipper has accounted for that one
                at = self._lost_at = following
                head[at + 1] = 0
                head[at], head[at + 2] = number, now
        head[at] = min(head[at], number)
        head[at + 3] = now
        head[at + 1] = max(head[at + 1], number + 1)


OWN_NUMBER = -2


def create(
    folder: Path, stream: str, identity: bytes, sizes: tuple[Sizes, ...] = SIZES, *, private: bool = False
) -> Ring:
    """A ring for `stream` in `folder`: a file, or with `private`, or without room, memory of our own and a link to it.

    `identity` is JSON of at most 8 KiB that the shipper hands on. Raises OSError where there is no memory either.
    """
    path = folder / f"{stream}.ring"
    for size in () if private else sizes:
        fd = _allocate(path.with_suffix(".new"), size)
        if fd is not None:
            ring = _prepare(fd, size, identity, str(path))
            path.with_suffix(".new").rename(path)
            return ring
    fd = os.memfd_create(f"roundwatch-{stream}", os.MFD_CLOEXEC)
    os.posix_fallocate(fd, 0, sizes[-1].total)
    ring = _prepare(fd, sizes[-1], identity, "")
    path.symlink_to(f"/proc/{os.getpid()}/fd/{fd}")
    return ring


def silent() -> Ring:
    """A ring that refuses everything: what `mode="disabled"` writes to."""
    sizes = Sizes(1, 0, 64)
    ring = Ring(mmap.mmap(-1, sizes.total), sizes)
    ring.silence()
    return ring


def _allocate(path: Path, sizes: Sizes) -> int | None:
    """A file of that size with all its memory allocated; None where there is no room."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        os.posix_fallocate(fd, 0, sizes.total)
    except OSError:
        os.close(fd)
        path.unlink()
        return None
    return fd


def _prepare(fd: int, sizes: Sizes, identity: bytes, where: str) -> Ring:
    # A POSIX lock is not inherited by forked children and falls with the process, however it ends: the sign of life.
    locks.take(fd)
    # All pages are mapped now: otherwise each of them interrupts the training once, where it first writes to it.
    memory = mmap.mmap(fd, sizes.total, mmap.MAP_SHARED | mmap.MAP_POPULATE)
    layout.HEADER.pack_into(memory, 0, layout.MAGIC, sizes.slots, sizes.heap, sizes.names, len(identity))
    memory[layout.IDENTITY_AT : layout.IDENTITY_AT + len(identity)] = identity
    return Ring(memory, sizes, fd, where)
