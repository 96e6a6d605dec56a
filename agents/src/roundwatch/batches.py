"""Records as the batches that travel: rows become columns, numbers of the stream's names become the batch's own."""

import itertools
import json
import math
from collections.abc import Sequence
from typing import Any

from roundwatch import slots, wire
from roundwatch.life import Life, turn
from roundwatch.segments import end_of
from roundwatch.slots import Record
from roundwatch.wire import Batch, Identity, Metric, OpenPhase, delta

UNKNOWN = "(unknown)"


class Builder:
    """Collects records of one stream into a batch."""

    def __init__(self, stream: str, identity: Identity, life: Life) -> None:
        self.batch = Batch(stream=stream, identity=identity, first=life.next, count=0, highest=life.next - 1)
        self._life = life
        self._names: dict[str, int] = {}
        self._metrics: dict[int, int] = {}

    def add(self, records: Sequence[Record]) -> Batch:
        """The batch with these records, which follow one another without a gap."""
        if records:
            self.batch.first = records[0].number
            self.batch.count = end_of(records[-1]) - records[0].number
        for record in records:
            ADD.get(record.sort, Builder._unknown)(self, record)
        self._differences()
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
        columns = self.batch.phases
        columns.number.append(record.number)
        columns.start.append(record.start)
        columns.begin_ns.append(record.t0)
        columns.duration_ns.append(int(record.t1))
        columns.name.append(self._name(record.name))
        columns.kind.append(record.kind)
        columns.round.append(record.round)
        columns.thread.append(record.thread)
        columns.parent.append(record.parent)
        columns.state.append(record.state)
        columns.worker.append(self._name(record.other))
        columns.clock.append(record.clock)
        columns.attrs.append(self._attrs(record.text))

    def _round(self, record: Record) -> None:
        columns = self.batch.rounds
        columns.number.append(record.number)
        columns.round.append(record.round)
        columns.ended.append(record.start)
        columns.begin_ns.append(record.t0)
        columns.duration_ns.append(int(record.t1))

    def _event(self, record: Record) -> None:
        columns = self.batch.events
        columns.number.append(record.number)
        columns.time_ns.append(record.t0)
        columns.name.append(self._name(record.name))
        columns.round.append(record.round)
        columns.thread.append(record.thread)
        columns.attrs.append(self._attrs(record.text))

    def _sample(self, record: Record) -> None:
        columns = self.batch.samples
        columns.number.append(record.number)
        columns.time_ns.append(record.t0)
        columns.metric.append(self._metric(record.name))
        columns.device.append(self._name(record.start))
        columns.value.append(record.t1 if math.isfinite(record.t1) else str(record.t1))
        columns.worker.append(self._name(record.other))
        columns.clock.append(record.clock)
        columns.round.append(record.round)

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

    def _differences(self) -> None:
        batch = self.batch
        batch.starts = delta(batch.starts)
        for columns, names in (
            (batch.phases, ("number", "start", "begin_ns")),
            (batch.rounds, ("number", "begin_ns")),
            (batch.events, ("number", "time_ns")),
            (batch.samples, ("number", "time_ns")),
        ):
            for name in names if columns.number else ():
                setattr(columns, name, delta(getattr(columns, name)))


ADD = {
    slots.START: Builder._start,  # noqa: SLF001 - its own table
    slots.END: Builder._phase,  # noqa: SLF001
    slots.ROUND: Builder._round,  # noqa: SLF001
    slots.EVENT: Builder._event,  # noqa: SLF001
    slots.SAMPLE: Builder._sample,  # noqa: SLF001
    slots.LIFECYCLE: Builder._lifecycle,  # noqa: SLF001
    slots.DROP: Builder._drop,  # noqa: SLF001
}
