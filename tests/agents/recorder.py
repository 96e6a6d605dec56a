"""A run of this very process whose ring the test reads: what the SDK records, without a shipper."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundwatch import layout, parts, ring, slots, wire
from roundwatch.life import Life, turn
from roundwatch.reader import RingReader
from roundwatch.ring import Ring
from roundwatch.run import Run
from roundwatch.slots import Record

SORTS = ("", "start", "phase", "round", "event", "sample", "lifecycle", "drop")


@dataclass
class Row:
    """A record with its names resolved."""

    sort: str
    name: str
    record: Record
    metric: tuple[str, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    worker: str = ""

    @property
    def kind(self) -> str:
        return wire.KINDS[self.record.kind]

    @property
    def state(self) -> str:
        return wire.PHASE_STATES[self.record.state]


class Recording:
    """A run, and what it has recorded so far."""

    def __init__(self, folder: Path, sizes: tuple[Any, ...] = layout.SIZES) -> None:
        self.ring: Ring = ring.create(folder, "a" * 32, b"{}", sizes)
        self.reader = RingReader(folder / f"{'a' * 32}.ring")
        self.run = Run(self.ring, None, "run")
        self.life = Life()
        self.rows: list[Row] = []

    def read(self) -> list[Row]:
        """Everything recorded so far but memory readings and what the collector did to the test itself, in order."""
        records = self.reader.read()
        self.life.define(self.reader.names())
        for record in records:
            self.rows += map(self._row, parts.expanded(self.life.admit(record), self.life.names))
        self.reader.free(self.life.next)
        return [row for row in self.rows if row.metric[2:] != ("process",) and row.name != "gc"]

    def of(self, sort: str) -> list[Row]:
        return [row for row in self.read() if row.sort == sort]

    def phases(self) -> list[Row]:
        return self.of("phase")

    def phase(self) -> Row:
        """The only phase that has ended."""
        (phase,) = self.phases()
        return phase

    def close(self) -> None:
        self.run.finish()
        self.reader.close(remove=True)

    def _row(self, record: Record) -> Row:
        words = self.life.names.get(record.name, ("",))
        row = Row(SORTS[record.sort], words[0], record, words if record.sort == slots.SAMPLE else ())
        row.worker = self.life.names.get(record.other, ("",))[0]
        if record.sort == slots.LIFECYCLE:
            row.name, row.attrs = turn(record)
        elif record.text:
            row.attrs = json.loads(record.text)
        return row
