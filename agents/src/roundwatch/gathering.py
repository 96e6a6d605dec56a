"""The parts of a step as they come about: kept in the ring's first page, where they outlive the process; one record.

Whoever times a part calls `add`, which writes a few words and makes no system call; nobody is told of them as long as
the step is short. When it ends, its record takes them along. Where the step lasts, or its process is gone, the shipper
reads them where they lie.
"""

import struct
from _thread import get_ident
from threading import Lock
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from roundwatch import layout, slots
from roundwatch.parts import COLLECTIVE, ENTRY, MEMORY, TRAVEL, WHERE
from roundwatch.phases import Phase
from roundwatch.slots import LONGS, SORT_SHIFT

if TYPE_CHECKING:
    from roundwatch.ring import Ring

COUNT_AT, ENTRIES_AT = 8 * layout.STEP_ENTRIES, 8 * layout.ENTRIES
LAST = ENTRIES_AT + ENTRY.size * (layout.MOST_ENTRIES - 5)  # a part has four at most, a step one more
STEP, STEP_ENTRIES = layout.STEP, layout.STEP_ENTRIES
WHERE_TAG, COLLECTIVE_TAG, TRAVEL_TAG, MEMORY_TAG = (tag << SORT_SHIFT for tag in (WHERE, COLLECTIVE, TRAVEL, MEMORY))
pack = struct.Struct("@3l" if LONGS else "<3q").pack_into

# Of a collective: the number of its group's name (0 for none), `seq`, and in nanoseconds how long it travelled and how
# much of that was hidden, -1 where that is not known.
Collective = tuple[int, int, int, int]


class Gathering:
    """The parts of one step at a time; a step that begins while another goes on has none."""

    __slots__ = ("_at", "_beside", "_lock", "_page", "_parts", "_ring", "_words", "memory", "step")

    def __init__(self, ring: "Ring") -> None:
        self._ring, self._page, self._words = ring, ring.page, ring.page.cast("q")
        ring.announce_steps()
        self._lock = Lock()
        self.step: Any = None
        self.memory: tuple[int, int] | None = None  # of the device, at most and reserved, in bytes

    def begin(self, step: "StepPhase") -> None:
        """A step has begun, and its parts are gathered; not where another's are."""
        if not self._ring.silent and self._lock.acquire(blocking=False):
            self.step, self.memory, self._beside = step, None, 0
            self._at, self._parts = ENTRIES_AT, 0
            words = self._words
            words[STEP_ENTRIES] = 0
            words[STEP] = step.number + 1

    def add(self, head: int, begin: int, end: int, collective: Collective | None = None) -> bool:
        """Gathers a part of the step itself from `begin` to `end`, in nanoseconds; called where that is innermost.

        False where it is too much for one step: then it must be written by itself.
        """
        at, page = self._at, self._page
        if at > LAST or self._ring.silent:  # in a forked child the page is its parent's
            return False
        if self._beside:
            self._beside = 0
            pack(page, at, WHERE_TAG, self.step.where, 1)
            at += 24
        pack(page, at, head, begin, end)
        at += 24
        if collective is not None:
            group, seq, comm, overlap = collective
            pack(page, at, COLLECTIVE_TAG | group, seq, 0)
            at += 24
            if comm >= 0:
                pack(page, at, TRAVEL_TAG, comm, overlap)
                at += 24
        self._at = at
        self._parts += 1
        self._words[STEP_ENTRIES] = (at - ENTRIES_AT) // 24
        return True

    def add_beside(self, head: int, where: int, begin: int, end: int, collective: Collective | None = None) -> bool:
        """The same for what ran beside the step: on the device, `where` its lane and round."""
        step = self.step
        if step is None or step.ground.ident != get_ident() or self._at > LAST or self._ring.silent:
            return False
        if self._beside != where:
            pack(self._page, self._at, WHERE_TAG, where, 0)
            self._at += 24
        self._beside = 0
        added = self.add(head, begin, end, collective)
        self._beside = where
        return added

    def end(self, step: "StepPhase", duration: int, error: BaseException | None) -> None:
        """The step is over, and something of it was gathered: writes its record."""
        head, text = step.said(error) if error is not None or step.attrs else (step.end_head, b"")
        at = self._at
        if self.memory is not None:
            pack(self._page, at, MEMORY_TAG, *self.memory)
            at += 24
            self._words[STEP_ENTRIES] += 1
        head += slots.STEP_OF_END + (self._parts << slots.OTHER_SHIFT)
        text = self._page[COUNT_AT:at].tobytes() + text
        self._ring.put_text(text, head, step.where, step.number, step.outer.number, step.begin, duration)

    def gathered(self) -> bool:
        """Whether anything was, by this process."""
        return (self._at > ENTRIES_AT or self.memory is not None) and not self._ring.silent

    def leave(self) -> None:
        """Nothing more comes of this step."""
        self.step = None
        self._lock.release()


class StepPhase(Phase):
    """The phase "step", whose end takes the parts along that were gathered in it."""

    __slots__ = ()

    @classmethod
    def like(cls, phase: Phase) -> "StepPhase":
        """A step that was never entered, with what `phase` was given."""
        fresh = cls()
        fresh.recorder, fresh.attrs = phase.recorder, dict(phase.attrs)
        fresh.head, fresh.end_head = phase.head, phase.end_head
        return fresh

    def __enter__(self) -> "StepPhase":  # noqa: PYI034 - Self came with Python 3.11
        Phase.__enter__(self)
        gathering = self.recorder.gathering
        if gathering is not None:
            gathering.begin(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        gathering = self.recorder.gathering
        if gathering is None or gathering.step is not self:
            Phase.__exit__(self, kind, error, trace)
            return
        try:
            if not gathering.gathered():
                Phase.__exit__(self, kind, error, trace)
                return
            end = monotonic_ns()
            self.recorder.innermost.set(self.outer)
            gathering.end(self, end - self.begin, error)
        finally:
            gathering.leave()
