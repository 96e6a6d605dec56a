"""Phases whose times are known when they are over: one write each, not one at the begin and one at the end."""

from roundwatch import slots, wire
from roundwatch.phases import NOWHERE, Recorder
from roundwatch.ring import OWN_NUMBER
from roundwatch.slots import SIZE, WORDS

DEVICE_LANE = -1  # stands for the device among the idents of threads, none of which is negative
Where = tuple[int, int]  # a slot's second word, and the number of the phase around


class Spans:
    """Writes such phases into a run's ring."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def head(self, name: str) -> int:
        """The first word of the slot of a phase that is called so."""
        kind = wire.KIND_NUMBER[wire.kind_of(name)]
        return slots.head(slots.END, self.recorder.ring.name(name), kind=kind)

    def here(self) -> Where:
        """Where the calling thread and task stand."""
        place = self.recorder.here()
        return place.ground.where, place.number

    def on_device(self) -> Where:
        """The device's own lane in the round of now: it works while the host is somewhere else."""
        return self.recorder.scope.bits | self.recorder.root(NOWHERE, DEVICE_LANE).ground.thread, -1

    def write(self, head: int, where: Where, begin: int, end: int, attrs: bytes = b"") -> None:
        """Records a phase from `begin` to `end`, in nanoseconds of the monotonic clock. `attrs` is JSON."""
        ring, duration = self.recorder.ring, max(end - begin, 0)
        if attrs:
            ring.put_text(attrs, head, where[0], OWN_NUMBER, where[1], begin, duration)
            return
        number = ring.take()
        if number < ring.limit or ring.room(number):
            at = (number & ring.mask) * SIZE
            WORDS.pack_into(ring.buffer, at, head, where[0], number, where[1], begin, duration, 0, number + 1)
