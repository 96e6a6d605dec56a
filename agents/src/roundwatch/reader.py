"""The shipper's side of a ring: takes what is committed, tells what was lost or torn, and makes room."""

import contextlib
import json
import mmap
import os
import struct
import time
from pathlib import Path
from typing import Any

from roundwatch import layout, locks, slots
from roundwatch.holes import Holes
from roundwatch.layout import Sizes
from roundwatch.slots import SIZE, Record

TEXT_LOST = b'{"roundwatch_attributes": "there was no room for them"}'


class OtherVersionError(ValueError):
    """A ring of another version of Roundwatch: not ours to read, and not ours to remove."""


class RingReader:
    """One ring file, opened. Raises OSError or ValueError where the file is no ring.

    `said` is the identity that lies in it, empty where that is damaged; `sound` is whether the place that a shipper
    before this one has left off at can be believed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._memory = mmap.mmap(self._fd, 0)
            self._sizes = self._check()
            self.said: dict[str, Any] = self._identity()
        except BaseException:
            os.close(self._fd)
            raise
        self._head = memoryview(self._memory)[: layout.PAGE].cast("q")
        self._slots = memoryview(self._memory)[self._sizes.slots_at : self._sizes.total]
        self._words = self._slots.cast("q")
        self._holes = Holes(self._head, self._words, self._sizes.slots)
        told = layout.check(self._head[layout.TAIL], self._head[layout.HEAP_TAIL], self._head[layout.NEXT])
        self.sound = self._head[layout.CHECK] in (0, told)
        self.next = self._head[layout.TAIL] if self.sound else self._holes.lowest()
        # The first text that is read tells it again.
        self._heap_end = self._head[layout.HEAP_TAIL] if self.sound else 0
        self._names_end = 0

    def _check(self) -> Sizes:
        try:
            magic, count, heap, names, _ = layout.HEADER.unpack_from(self._memory)
        except struct.error as error:
            raise ValueError(f"{self.path} is cut off") from error
        ours = magic in (layout.MAGIC, layout.WITH_STEPS)
        if not ours and magic[:-1] == layout.MAGIC[:-1]:
            raise OtherVersionError(f"{self.path} is a ring of version {magic[-1]}, which is not ours")
        size, given = len(self._memory), Sizes(count, heap, names)
        if ours and given.total == size and count > 0 and not count & (count - 1):
            return given
        # A damaged header costs no record where the file is as long as our rings are.
        usual = next((sizes for sizes in layout.SIZES if sizes.total == size), None)
        if usual is None or not self._identity():
            raise ValueError(f"{self.path} is no ring")
        return usual

    def _identity(self) -> dict[str, Any]:
        text = self._memory[layout.IDENTITY_AT : layout.IDENTITY_AT + layout.IDENTITY_BYTES].rstrip(b"\0")
        try:
            return dict(json.loads(text))
        except (ValueError, TypeError):
            return {}

    def writing(self) -> bool:
        """Whether a process lives that may still write here."""
        # A file's writer drops the lock when it finishes; private memory is its process's as long as that lives.
        finished = self.end_state() != "" and self.path.is_symlink()
        return not finished and locks.holder(self._fd) != 0

    def end_state(self) -> str:
        """How the run was finished here; "" where it was not."""
        closed = self._head[layout.CLOSED]
        return layout.ENDS[closed - 1] if 0 < closed <= len(layout.ENDS) else ""

    def read(self, limit: int = 4_096) -> list[Record]:
        """The next records in order, at most `limit`; ranges that found no room are DROP records."""
        records: list[Record] = []
        while len(records) < limit:
            if self._holes.committed(self.next):
                records += self._run(min(limit - len(records), 256))
            else:
                drop = self._holes.lost(self.next) or self._holes.torn(self.next)
                if drop is None:
                    break
                records.append(drop)
                self.next += drop.start
        return records

    def rest(self) -> list[Record]:
        """Everything that is left once the writer is gone: what was never committed is torn."""
        records = self.read(1 << 40)
        while (following := self._holes.following(self.next)) is not None:
            if span := following - self.next:
                records.append(slots.drop(self.next, span=span, count=span, reason="torn"))
                self.next = following
            records += self.read(1 << 40)
        return records

    def names(self) -> list[tuple[int, list[str]]]:
        """The names (number, words) that were defined since the last call."""
        found: list[tuple[int, list[str]]] = []
        end = min(self._head[layout.NAMES_END], self._sizes.names - layout.NAME.size)
        while self._names_end < end:
            at = layout.NAMES_AT + self._names_end
            number, length = layout.NAME.unpack_from(self._memory, at)
            begin = at + layout.NAME.size
            if not number:  # nothing was written there: the end was damaged
                break
            with contextlib.suppress(ValueError):  # a damaged name costs no other
                found.append((number, [str(word) for word in json.loads(self._memory[begin : begin + length])]))
            self._names_end += layout.NAME.size + length
        return found

    def progress(self, start: int) -> float | None:
        """How much of the phase that began as `start` is done, where its process said so."""
        at = layout.PROGRESS_AT + start % layout.PROGRESS_ENTRIES * layout.PROGRESS.size
        number, share = layout.PROGRESS.unpack_from(self._memory, at)
        return share if number == start + 1 else None

    def step(self) -> tuple[int, bytes]:
        """The number of the start of the step that goes on, and the entries of what of it is over (see `parts`).

        -1 and b"" where there is none, or where it ended in this moment.
        """
        head = self._head
        step, count = head[layout.STEP], head[layout.STEP_ENTRIES]
        if not 0 < count <= layout.MOST_ENTRIES:
            return -1, b""
        entries = head[layout.ENTRIES : layout.ENTRIES + count * layout.ENTRY_WORDS].tobytes()
        return (step - 1, entries) if head[layout.STEP] == step else (-1, b"")

    def told(self) -> tuple[int, int, int]:
        """Of which step (the number of its start) how many entries were told, and their first number in the stream."""
        step, entries, number = self._head[layout.TOLD_STEP : layout.TOLD_AT + 1]
        return step - 1, entries, number

    def tell(self, step: int, entries: int, number: int) -> None:
        """Notes what `told` says."""
        head = self._head
        head[layout.TOLD_STEP] = 0
        head[layout.TOLD_ENTRIES], head[layout.TOLD_AT] = entries, number
        head[layout.TOLD_STEP] = step + 1

    def beat(self, *, refused: bool = False) -> None:
        """Shows the writer that a shipper looks, and whether the server refuses the token."""
        self._head[layout.REFUSED] = refused
        self._head[layout.BEAT] = time.monotonic_ns()

    def place(self) -> tuple[int, int]:
        """The tail, and what it is in the stream's own numbers; zeros where the ring does not remember them."""
        return (self._head[layout.TAIL], self._head[layout.NEXT]) if self.sound else (0, 0)

    def stacks(self) -> tuple[int, int, int]:
        """How the process is asked for its thread stacks: what `stacks.offer` said there; zeros where nothing did."""
        signal, fd, main = self._head[layout.STACKS : layout.STACKS + layout.STACKS_WORDS].tolist()
        return signal, fd, main

    def pid(self) -> int:
        """The process that writes here; 0 where none does, or none that this one can see."""
        return max(0, locks.holder(self._fd))

    def free(self, number: int) -> None:
        """Makes room: everything read so far is safe elsewhere, and the stream goes on with `number`."""
        self._head[layout.HEAP_TAIL] = self._heap_end
        self._head[layout.NEXT] = number
        self._head[layout.TAIL] = self.next
        self._head[layout.CHECK] = layout.check(self.next, self._heap_end, number)
        self.sound = True

    @property
    def silenced(self) -> bool:
        """Whether a shipper has told the writer that its run is gone."""
        return self._head[layout.ORDERS] == 1

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
            lost = reference == layout.NO_TEXT and slot[7] != slots.STEP
            return slots.unpack(slot, TEXT_LOST if lost else b"", from_ring=True)
        at, length = reference >> slots.LENGTH_BITS, reference & slots.LENGTH_MASK
        begin = self._sizes.heap_at + at % self._sizes.heap
        self._heap_end = max(self._heap_end, at + length)
        return slots.unpack(slot, self._memory[begin : begin + length], from_ring=True)
