"""The parts of a step as they come about: kept in the ring's first page, where they outlive the process; one record.

Whoever times a part calls `add`, which writes a few words and makes no system call; nobody is told of them as long as
the step is short. When it ends, its record takes them along. Where the step lasts, or its process is gone, the shipper
reads them where they lie.
"""

from _thread import get_ident
from threading import Lock
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from roundwatch import layout, slots
from roundwatch.parts import COLLECTIVE, COUNT, MEMORY, TRAVEL, WHERE
from roundwatch.phases import Phase
from roundwatch.slots import SORT_SHIFT

if TYPE_CHECKING:
    from roundwatch.ring import Ring

STEP, STEP_ENTRIES, ENTRIES = layout.STEP, layout.STEP_ENTRIES, layout.ENTRIES
LAST = ENTRIES + layout.ENTRY_WORDS * (layout.MOST_ENTRIES - 5)  # a part has four at most, a step one more
WHERE_TAG, COLLECTIVE_TAG, TRAVEL_TAG, MEMORY_TAG = (tag << SORT_SHIFT for tag in (WHERE, COLLECTIVE, TRAVEL, MEMORY))


class Collective(NamedTuple):
    """What is known of a collective beside its times; `group` is the number of its name, 0 for none.

    How long it travelled and how much of that was hidden is in nanoseconds, -1 where that is not known.
    """

    group: int
    seq: int
    comm_ns: int = -1
    overlap_ns: int = -1


class Gathering:
    """The parts of one step at a time; a step that begins while another goes on has none."""

    __slots__ = ("_at", "_lock", "_parts", "_ring", "_where", "_within", "_words", "memory", "step")

    def __init__(self, ring: "Ring") -> None:
        self._ring, self._words = ring, ring.words
        ring.announce_steps()
        self._lock = Lock()
        self.step: Any = None
        self.memory: tuple[int, int] | None = None  # of the device, at most and reserved, in bytes

    def begin(self, step: "StepPhase") -> None:
        """A step has begun, and its parts are gathered; not where another's are."""
        if self._ring.silent or not self._lock.acquire(blocking=False):
            return
        self.step, self.memory = step, None
        self._at, self._parts = ENTRIES, 0
        self._where, self._within = step.where, True
        words = self._words
        words[STEP_ENTRIES] = 0
        words[STEP] = step.number + 1

    def add(
        self, head: int, where: int, parent: int, begin: int, end: int, collective: Collective | None = None
    ) -> bool:
        """Gathers a part from `begin` to `end`, in nanoseconds; False where it does not belong to the step, or is too
        much for it: then it must be written by itself."""
        step = self.step
        if step is None or step.ground.ident != get_ident() or self._ring.silent:
            return False
        at, within = self._at, parent == step.number
        if at > LAST or not (within or parent == -1):
            return False
        words = self._words
        if where != self._where or within is not self._within:
            words[at], words[at + 1], words[at + 2] = WHERE_TAG, where, within
            self._where, self._within = where, within
            at += 3
        words[at], words[at + 1], words[at + 2] = head, begin, end
        at += 3
        if collective is not None:
            group, seq, comm, overlap = collective
            words[at], words[at + 1] = COLLECTIVE_TAG | group, seq
            at += 3
            if comm >= 0:
                words[at], words[at + 1], words[at + 2] = TRAVEL_TAG, comm, overlap
                at += 3
        self._at = at
        self._parts += 1
        words[STEP_ENTRIES] = (at - ENTRIES) // 3
        return True

    def end(self, step: "StepPhase", duration: int, error: BaseException | None) -> None:
        """The step is over: writes its record, and is free for the next."""
        try:
            if not self._ring.silent:  # in a forked child the words are its parent's
                head, text = self._record(step, error)
                self._ring.put_text(text, head, step.where, step.number, step.outer.number, step.begin, duration)
                self._words[STEP] = 0
        finally:
            self.step = None
            self._lock.release()

    def _record(self, step: "StepPhase", error: BaseException | None) -> tuple[int, bytes]:
        """The head and the text of a step's record; of its end alone where nothing was gathered."""
        words, at = self._words, self._at
        head, attrs = step.said(error)
        if self.memory is not None:
            words[at], words[at + 1], words[at + 2] = MEMORY_TAG, *self.memory
            at += 3
        if at == ENTRIES:
            return head, attrs
        head += slots.STEP_OF_END + (self._parts << slots.OTHER_SHIFT)
        return head, COUNT.pack((at - ENTRIES) // 3, 0) + words[ENTRIES:at].tobytes() + attrs


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
        end = monotonic_ns()
        self.recorder.innermost.set(self.outer)
        gathering.end(self, end - self.begin, error)
