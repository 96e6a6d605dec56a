"""Records as the batches that travel: rows become columns, numbers of the stream's names become the batch's own."""

import itertools
import json
import math
from collections.abc import Sequence
from typing import Any, TypeVar

from roundwatch import slots, wire
from roundwatch.life import Life, turn
from roundwatch.segments import end_of
from roundwatch.slots import Record
from roundwatch.wire import (
    Batch,
    EventColumns,
    Identity,
    Metric,
    OpenPhase,
    PhaseColumns,
    RoundColumns,
    SampleColumns,
    delta,
)

UNKNOWN = "(unknown)"
C = TypeVar("C", PhaseColumns, RoundColumns, EventColumns, SampleColumns)


class Builder:
    """Collects records of one stream into a batch."""

    def __init__(self, stream: str, identity: Identity, life: Life) -> None:
        self.batch = Batch(stream=stream, identity=identity, first=life.next, count=0, highest=life.next - 1)
        self._life = life
        self._names: dict[str, int] = {}
        self._metrics: dict[int, int] = {}
        self._phases: list[tuple[Any, ...]] = []
        self._rounds: list[tuple[Any, ...]] = []
        self._events: list[tuple[Any, ...]] = []
        self._samples: list[tuple[Any, ...]] = []

    def add(self, records: Sequence[Record]) -> Batch:
        """The batch with these records, which follow one another without a gap."""
        if records:
            self.batch.first = records[0].number
            self.batch.count = end_of(records[-1]) - records[0].number
        for record in records:
            ADD.get(record.sort, Builder._unknown)(self, record)
        self._columns()
        return self.batch

    def open_phases(self, progress: Any) -> None:
        """Lists the phases that are open, the first 1,000 of them; `progress` gives the share done, or None."""
        for start, begun in itertools.islice(self._life.open.items(), wire.MAX_OPEN):
            self.batch.open.append(
                OpenPhase(
                    start=start,
                    begin_ns=begun.t0,
                    name=self._text(begun.name),
                    kind=begun.kind,
                    round=begun.round,
                    thread=begun.thread,
                    parent=begun.parent,
                    progress=progress(begun),
                )
            )

    def _start(self, record: Record) -> None:
        self.batch.starts.append(record.number)

    def _phase(self, record: Record) -> None:
        number, _, name, other, kind, state, clock, thread, round_, start, parent, t0, t1, text, _ = record
        name, worker = self._name(name), self._name(other)
        self._phases.append(
            (number, start, t0, int(t1), name, kind, round_, thread, parent, state, worker, clock, self._attrs(text))
        )

    def _round(self, record: Record) -> None:
        self._rounds.append((record.number, record.round, record.start, record.t0, int(record.t1)))

    def _event(self, record: Record) -> None:
        name, attrs = self._name(record.name), self._attrs(record.text)
        self._events.append((record.number, record.t0, name, record.round, record.thread, attrs))

    def _sample(self, record: Record) -> None:
        number, _, name, other, _, _, clock, _, round_, device, _, t0, t1, _, _ = record
        value = t1 if math.isfinite(t1) else str(t1)
        metric, device, worker = self._metric(name), self._name(device), self._name(other)
        self._samples.append((number, t0, metric, device, value, worker, clock, round_))

    def _lifecycle(self, record: Record) -> None:
        what, data = turn(record)
        if what == "damaged":
            self._drop(slots.drop(record.number, span=1, count=1, reason="damaged", what="lifecycle"))
            return
        self.batch.lifecycle.append(wire.Lifecycle(number=record.number, time_ns=record.t0, what=what, data=data))

    def _unknown(self, record: Record) -> None:
        self._drop(slots.drop(record.number, span=1, count=1, reason="damaged"))

    def _drop(self, record: Record) -> None:
        self.batch.drops.append(
            wire.Drop(
                number=record.number,
                span=record.start,
                count=record.parent,
                what=slots.DROPPED[record.kind],
                reason=slots.REASONS[record.state],
                from_ns=record.t0 if record.t0 >= 0 else None,
                to_ns=int(record.t1) if record.t1 >= 0 else None,
            )
        )

    def _text(self, number: int) -> str:
        return self._life.names.get(number, (UNKNOWN,))[0]

    def _name(self, number: int) -> int:
        if not number:
            return -1
        text = self._text(number)
        at = self._names.get(text)
        if at is None:
            at = self._names[text] = len(self.batch.names)
            self.batch.names.append(text)
        return at

    def _metric(self, number: int) -> int:
        at = self._metrics.get(number)
        if at is None:
            at = self._metrics[number] = len(self.batch.metrics)
            words = self._life.names.get(number, (UNKNOWN,))
            name, unit, source = words if len(words) == 3 else (words[0], "", "training")
            self.batch.metrics.append(Metric(name=name, unit=unit, source=source))
        return at

    def _attrs(self, text: bytes) -> int:
        if not text:
            return -1
        try:
            values = dict(json.loads(text))
        except (ValueError, TypeError):
            values = {"roundwatch_attributes": "damaged"}
        self.batch.attrs.append(values)
        return len(self.batch.attrs) - 1

    def _columns(self) -> None:
        batch = self.batch
        batch.starts = delta(batch.starts)
        if self._phases:
            batch.phases = columns(PhaseColumns, self._phases, ("number", "start", "begin_ns"))
        if self._rounds:
            batch.rounds = columns(RoundColumns, self._rounds, ("number", "begin_ns"))
        if self._events:
            batch.events = columns(EventColumns, self._events, ("number", "time_ns"))
        if self._samples:
            batch.samples = columns(SampleColumns, self._samples, ("number", "time_ns"))


def columns(kind: type[C], rows: list[tuple[Any, ...]], differences: tuple[str, ...]) -> C:
    """Rows with their values in the order of a shape's fields as that shape, `differences` of them delta-coded."""
    values = dict(zip(kind.__slots__, map(list, zip(*rows, strict=True)), strict=True))
    for name in differences:
        values[name] = delta(values[name])
    return kind(**values)


ADD = {
    slots.START: Builder._start,  # noqa: SLF001 - its own table
    slots.END: Builder._phase,  # noqa: SLF001
    slots.ROUND: Builder._round,  # noqa: SLF001
    slots.EVENT: Builder._event,  # noqa: SLF001
    slots.SAMPLE: Builder._sample,  # noqa: SLF001
    slots.LIFECYCLE: Builder._lifecycle,  # noqa: SLF001
    slots.DROP: Builder._drop,  # noqa: SLF001
}
