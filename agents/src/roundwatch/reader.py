"""The shipper's side of a ring: takes what is committed, tells what was lost or torn, and makes room."""

import json
import mmap
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roundwatch import layout, locks, slots
from roundwatch.layout import Sizes
from roundwatch.slots import SIZE, Record

AHEAD = 64  # how far beyond a hole one looks for life
TEXT_LOST = b'{"roundwatch_attributes": "there was no room for them"}'
HOLE_POLLS, HOLE_NS = 10, 2_000_000_000


class RingReader:
    """One ring file, opened. Raises OSError or ValueError where the file is no ring."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._memory = mmap.mmap(self._fd, 0)
            self._sizes, text = self._check()
            self.said: dict[str, Any] = json.loads(text)
        except BaseException:
            os.close(self._fd)
            raise
        self._head = memoryview(self._memory)[: layout.PAGE].cast("q")
        self._slots = memoryview(self._memory)[self._sizes.slots_at : self._sizes.total]
        self._words = self._slots.cast("q")
        self.next = self.tail()
        self._heap_end = self._head[layout.HEAP_TAIL]
        self._names_end = 0
        self._hole: tuple[int, int, int, int] = (-1, 0, 0, -1)  # number, since, polls, highest

    def _check(self) -> tuple[Sizes, bytes]:
        try:
            magic, count, heap, names, length = layout.HEADER.unpack_from(self._memory)
        except struct.error as error:
            raise ValueError(f"{self.path} is cut off") from error
        sizes = Sizes(count, heap, names)
        if magic != layout.MAGIC or sizes.total != len(self._memory) or count & (count - 1):
            raise ValueError(f"{self.path} is no ring")
        return sizes, self._memory[layout.IDENTITY_AT : layout.IDENTITY_AT + length]

    def tail(self) -> int:
        """The first number that was not taken, as the ring remembers it."""
        return self._head[layout.TAIL]

    def writing(self) -> bool:
        """Whether a process lives that may still write here."""
        return not self.end_state() and locks.holder(self._fd) != 0

    def end_state(self) -> str:
        """How the run was finished here; "" where it was not."""
        closed = self._head[layout.CLOSED]
        return layout.ENDS[closed - 1] if 0 < closed <= len(layout.ENDS) else ""

    def read(self, limit: int = 4_096) -> list[Record]:
        """The next records in order, at most `limit`; ranges that found no room are DROP records."""
        records: list[Record] = []
        while len(records) < limit:
            if self._committed(self.next):
                records += self._run(min(limit - len(records), 256))
            else:
                drop = self._lost(self.next) or self._torn()
                if drop is None:
                    break
                records.append(drop)
                self.next += drop.start
        return records

    def rest(self) -> list[Record]:
        """Everything that is left once the writer is gone: what was never committed is torn."""
        records = self.read(1 << 40)
        end = self._end()
        while self.next < end:
            begin = self.next
            while self.next < end and not self._committed(self.next) and self._lost(self.next) is None:
                self.next += 1
            if self.next > begin:
                span = self.next - begin
                records.append(slots.drop(begin, span=span, count=span, reason="torn"))
            records += self.read(1 << 40)
        return records

    def names(self) -> list[tuple[int, list[str]]]:
        """The names (number, words) that were defined since the last call."""
        found = []
        end = self._head[layout.NAMES_END]
        while self._names_end < end:
            at = layout.NAMES_AT + self._names_end
            number, length = layout.NAME.unpack_from(self._memory, at)
            begin = at + layout.NAME.size
            found.append((number, json.loads(self._memory[begin : begin + length])))
            self._names_end += layout.NAME.size + length
        return found

    def progress(self, start: int) -> float | None:
        """How much of the phase that began as `start` is done, where its process said so."""
        at = layout.PROGRESS_AT + start % layout.PROGRESS_ENTRIES * layout.PROGRESS.size
        number, share = layout.PROGRESS.unpack_from(self._memory, at)
        return share if number == start + 1 else None

    def beat(self, *, refused: bool = False) -> None:
        """Shows the writer that a shipper looks, and whether the server refuses the token."""
        self._head[layout.REFUSED] = refused
        self._head[layout.BEAT] = time.monotonic_ns()

    def number(self) -> int:
        """What the tail is in the stream's own numbers."""
        return self._head[layout.NEXT]

    def pid(self) -> int:
        """The process that writes here; 0 where none does, or none that this one can see."""
        return max(0, locks.holder(self._fd))

    def free(self, number: int) -> None:
        """Makes room: everything read so far is safe elsewhere, and the stream goes on with `number`."""
        self._head[layout.HEAP_TAIL] = self._heap_end
        self._head[layout.NEXT] = number
        self._head[layout.TAIL] = self.next

    def order_silence(self) -> None:
        """Tells the writer that its run is gone; it hears it when its ring is full."""
        self._head[layout.ORDERS] = 1

    def close(self, *, remove: bool = False) -> None:
        """Lets go of the file; removes it too once nobody needs it."""
        self._head.release()
        self._words.release()
        self._slots.release()
        self._memory.close()
        os.close(self._fd)
        if remove:
            self.path.unlink(missing_ok=True)

    def _committed(self, number: int) -> bool:
        return bool(self._words[((number & (self._sizes.slots - 1)) << 3) + 7] == number + 1)

    def _run(self, limit: int) -> list[Record]:
        """The committed records from `next` on that lie side by side."""
        at = self.next & (self._sizes.slots - 1)
        count = min(limit, self._sizes.slots - at)
        commits = self._words[(at << 3) + 7 : (at + count) << 3 : 8].tolist()
        want = self.next + 1
        good = next((index for index, commit in enumerate(commits) if commit != want + index), count)
        # Copied only after the commit words were seen: a processor may show stores of others late, but not that late.
        block = bytes(self._slots[at * SIZE : (at + good) * SIZE])
        self.next += good
        return [self._record(block[begin : begin + SIZE]) for begin in range(0, len(block), SIZE)]

    def _record(self, slot: bytes) -> Record:
        reference = int.from_bytes(slot[48:56], "little", signed=True)
        if reference <= 0:
            return slots.unpack(slot, TEXT_LOST if reference == layout.NO_TEXT else b"", from_ring=True)
        at, length = reference >> slots.LENGTH_BITS, reference & slots.LENGTH_MASK
        begin = self._sizes.heap_at + at % self._sizes.heap
        self._heap_end = max(self._heap_end, at + length)
        return slots.unpack(slot, self._memory[begin : begin + length], from_ring=True)

    def _lost(self, number: int) -> Record | None:
        """The DROP for the numbers from `number` on that the writer lost for want of room."""
        for first, end, from_ns, to_ns in self._losses():
            if first <= number < end:
                span = self._hole_span(number, end)
                return slots.drop(number, span=span, count=span, reason="ring full", from_ns=from_ns, to_ns=to_ns)
        return None

    def _losses(self) -> Iterator[list[int]]:
        for at in range(layout.LOST, layout.LOST + layout.LOST_SPACE, layout.LOST_WORDS):
            if self._head[at + 1]:
                yield self._head[at : at + layout.LOST_WORDS].tolist()

    def _hole_span(self, number: int, end: int) -> int:
        near = min(end, number + self._sizes.slots)
        return next((at for at in range(number + 1, near) if self._committed(at)), end) - number

    def _torn(self) -> Record | None:
        """The DROP for one number whose thread was interrupted between taking and writing it; None while it may come.

        It may come as long as the rest of the process does not go on either: a stopped process is not a torn one.
        """
        number = self.next
        if not self._goes_on():
            return None
        highest, now = self._end(), time.monotonic_ns()
        seen, since, polls, before = self._hole
        if seen != number:
            self._hole = (number, now, 0, highest)
            return None
        polls += highest > before
        self._hole = (number, since, polls, highest)
        if polls < HOLE_POLLS or now - since < HOLE_NS:
            return None
        return slots.drop(number, span=1, count=1, reason="torn")

    def _goes_on(self) -> bool:
        """Whether something close behind the next number is committed."""
        at = self.next & (self._sizes.slots - 1)
        commits = self._words[(at << 3) + 7 : (at + AHEAD) << 3 : 8].tolist()
        wrapped = self._words[7 : max(0, at + AHEAD - self._sizes.slots) << 3 : 8].tolist()
        return max(*commits, *wrapped, 0) > self.next

    def _end(self) -> int:
        """The number after the highest that was committed, or lost for want of room."""
        commits = self._words[7::8].tolist()
        end = max(*commits, self.next)
        return max(end, *(lost[1] for lost in self._losses()), 0)
