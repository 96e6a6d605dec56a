"""A batch under examination: its tables with what speaks against their entries, and the records set aside so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ingest.api.columns import Verdicts, first_use, row
from ingest.api.numbers import Numbers
from ingest.api.texts import json_text, shown
from ingest.store.arrivals import Ints, Mask, Reject
from roundwatch import wire

EARLIEST_NS = 946_684_800 * 10**9  # the year 2000
AHEAD_NS = 600 * 10**9
OUT_OF_TIME = "its time is outside of 2000 to now + 10 minutes"


K = TypeVar("K")


class Table(dict[K, int]):
    """Entries in the order of their first use, each with its place."""

    def place(self, entry: K) -> int:
        """Where the entry stands; it is appended where it is new."""
        return self.setdefault(entry, len(self))


@dataclass(slots=True)
class Examination:
    """One batch; `names`, `speaks_for` and `attrs` become the arrival's tables."""

    batch: wire.Batch
    numbers: Numbers
    now_ns: int
    host_stream: bool
    name_faults: list[str | None] = field(init=False)
    names: Table[tuple[str, int]] = field(default_factory=Table)
    speaks_for: Table[str] = field(default_factory=Table)
    attrs: list[bytes | None] = field(default_factory=list)
    attr_faults: list[str | None] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    seen: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        """Judge the tables once."""
        self.name_faults = [wire.name_fault(name) for name in self.batch.names]
        for value in self.batch.attrs:
            text, fault = json_text(value, wire.MAX_ATTRS_BYTES)
            self.attrs.append(text)
            self.attr_faults.append(fault)

    def pairs(self, names: Ints, kinds: Ints) -> Ints:
        """Columns of name and kind as places among the (name, kind) in use; -1 where the name is -1."""
        width = len(wire.KINDS)
        distinct, positions = first_use(np.where(names < 0, -1, names * width + kinds))
        places = [
            -1 if code < 0 else self.names.place((self.batch.names[code // width], code % width)) for code in distinct
        ]
        return np.array(places, np.int64)[positions]

    def speakers(self, workers: Ints) -> Ints:
        """A column of names of other workers as places in `speaks_for`; -1 stays -1."""
        if workers.max(initial=-1) < 0:
            return workers
        distinct, positions = first_use(workers)
        return np.array([self.speaker(name) for name in distinct], np.int64)[positions]

    def speaker(self, name: int) -> int:
        """The place in `speaks_for` of the worker that the batch's names call `name`; -1 for none."""
        return -1 if name < 0 else self.speaks_for.place(self.batch.names[name])

    def open_case(self, numbers: Ints) -> Verdicts:
        """Verdicts over records with these numbers; one whose number came before in this batch is refused."""
        verdicts = Verdicts(len(numbers))
        if not self.numbers.repeated:
            return verdicts
        distinct, firsts = np.unique(numbers, return_index=True)
        repeated = np.ones(len(numbers), np.bool_)
        repeated[firsts] = False
        verdicts.refuse(repeated | np.isin(numbers, self.seen), "its number came twice")
        self.seen = np.concatenate([self.seen, distinct])
        return verdicts

    def close_case(self, verdicts: Verdicts, numbers: Ints, sort: str, columns: object) -> Mask:
        """Set the refused records aside; returns the mask of those that stay."""
        for index, reason in verdicts.reasons.items():
            self.refuse(int(numbers[index]), reason, {"sort": sort, **row(columns, index)})
        return ~verdicts.bad

    def refuse(self, number: int, reason: str, record: Mapping[str, object]) -> None:
        """Set one record aside."""
        self.rejects.append(Reject(number, reason[:256], shown(record)))

    def times(self, raw: tuple[Ints, Mask], explicit: Mask | None, verdicts: Verdicts) -> Ints:
        """Times on the server's clock; `explicit` ones are taken as they came. Refuses what lies out of time."""
        column, beyond = raw
        offset_ns = self.batch.offset_ns
        times = column + (offset_ns if explicit is None else np.where(explicit, 0, offset_ns))
        verdicts.refuse(beyond | (times > self.now_ns + AHEAD_NS) | (times < EARLIEST_NS), OUT_OF_TIME)
        return times

    def ends(self, begins: Ints, durations: tuple[Ints, Mask], verdicts: Verdicts) -> Ints:
        """Begins plus durations; refuses negative durations and ends out of time."""
        duration, beyond = durations
        verdicts.refuse(beyond | (duration < 0), "its duration is negative or too long")
        ends = np.where(verdicts.bad, 0, begins + duration)
        verdicts.refuse(ends > self.now_ns + AHEAD_NS, OUT_OF_TIME)
        return ends

    def sound_time(self, raw_ns: int) -> int | None:
        """A single time of the stream on the server's clock, or None where it is out of time."""
        time = raw_ns + self.batch.offset_ns
        return time if EARLIEST_NS <= time <= self.now_ns + AHEAD_NS else None
