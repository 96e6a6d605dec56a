"""Phases whose times are known when they are over: parts of the step around them, or a record each where none is."""

import json
from typing import Any, NamedTuple

from roundwatch import slots, wire
from roundwatch.gathering import Collective, Gathering
from roundwatch.parts import DEVICE
from roundwatch.phases import NOWHERE, Recorder
from roundwatch.ring import OWN_NUMBER
from roundwatch.slots import SIZE, WORDS

DEVICE_LANE = -1  # stands for the device among the idents of threads, none of which is negative


class Lane(NamedTuple):
    """Where a device stands: a slot's second word. No phase is around it."""

    where: int


class Spans:
    """Writes such phases into a run's ring."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        if recorder.gathering is None:
            recorder.gathering = Gathering(recorder.ring)
        self.gathering: Gathering = recorder.gathering
        self._names: dict[int, str] = {}  # of process groups

    def head(self, name: str, *, device: bool = False) -> int:
        """The first word of the slot of a phase that is called so."""
        kind = wire.KIND_NUMBER[wire.kind_of(name)]
        return slots.head(slots.END, self.recorder.ring.name(name), kind=kind) | DEVICE * device

    def group(self, name: str) -> int:
        """The number of a process group's name."""
        number = self.recorder.ring.name(wire.fitting(name))
        self._names[number] = name
        return number

    def here(self) -> Any:
        """Where the calling thread and task stand: the innermost phase, or outside of all."""
        return self.recorder.here()

    def on_device(self) -> Lane:
        """The device's own lane in the round of now: it works while the host is somewhere else."""
        return Lane(self.recorder.scope.bits | self.recorder.root(NOWHERE, DEVICE_LANE).ground.thread)

    def write(self, head: int, place: Any, begin: int, end: int, collective: Collective | None = None) -> None:
        """Records a phase from `begin` to `end`, in nanoseconds of the monotonic clock; `place` is what `here` or
        `on_device` said."""
        gathering = self.gathering
        if place is gathering.step:
            if gathering.add(head, begin, end, collective):
                return
        elif type(place) is Lane and gathering.add_beside(head, place.where, begin, end, collective):
            return
        where = (place.where, -1) if type(place) is Lane else (place.ground.where, place.number)
        ring, duration = self.recorder.ring, max(end - begin, 0)
        device, head = head & DEVICE, head & ~DEVICE
        if device or collective is not None:
            attrs = self._attributes(collective) | ({"device": True} if device else {})
            ring.put_text(json.dumps(attrs).encode(), head, where[0], OWN_NUMBER, where[1], begin, duration)
            return
        number = ring.take()
        if number < ring.limit or ring.room(number):
            at = (number & ring.mask) * SIZE
            WORDS.pack_into(ring.buffer, at, head, where[0], number, where[1], begin, duration, 0, number + 1)

    def _attributes(self, collective: Collective | None) -> dict[str, Any]:
        if collective is None:
            return {}
        group, seq, comm, overlap = collective
        said = {"process_group": self._names[group], "seq": seq} if group else {"seq": seq}
        return said | ({"comm_s": comm / 1e9, "overlap_s": overlap / 1e9} if comm >= 0 else {})
