"""The records of a batch that are stored: within the run's limits, and not there yet."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ingest.models.multiranges import Range
from ingest.store import ranges
from ingest.store.arrivals import EventRows, Ints, Mask, PhaseRows, Reject, RoundRows, Rows, SampleRows
from ingest.store.resolve import Resolved

R = TypeVar("R", bound=Rows)
_NO_NAME = "the run has too many phase names"
_NO_WORKER = "the run has too many workers"
_NO_SERIES = "the stream has too many series"


@dataclass(frozen=True, slots=True)
class Fresh:
    """Records to store, those that there is no room for, and the numbers of the batch that are new."""

    numbers: list[Range]
    phases: PhaseRows
    events: EventRows
    samples: SampleRows
    rounds: RoundRows
    no_room: list[Reject]


def fresh(resolved: Resolved, numbers: list[Range]) -> Fresh:
    """Sift a batch of which `numbers` (half-open ranges) are not stored yet."""
    arrival, no_room = resolved.arrival, list[Reject]()
    phases = arrival.phases
    if None in resolved.workers and len(phases):
        spoken = np.array([True, *(ref is not None for ref in resolved.workers)])
        phases = _room(phases, spoken[phases.worker + 1], _NO_WORKER, no_room)
    phases = _named(phases, resolved.names, phases.name, _NO_NAME, no_room)
    events = _named(arrival.events, resolved.names, arrival.events.name, _NO_NAME, no_room)
    samples = _named(arrival.samples, resolved.series, arrival.samples.series, _NO_SERIES, no_room)
    if numbers == [(arrival.first, arrival.first + arrival.count)]:  # nearly always all of it is new
        return Fresh(numbers, phases, events, samples, arrival.rounds, no_room)
    return Fresh(
        numbers,
        _new(phases, numbers),
        _new(events, numbers),
        _new(samples, numbers),
        _new(arrival.rounds, numbers),
        no_room,
    )


def _named(rows: R, table: Ints, column: Ints, reason: str, no_room: list[Reject]) -> R:
    """The rows whose entry of the table exists; the others are refused."""
    return _room(rows, table[column] >= 0, reason, no_room) if len(rows) else rows


def _room(rows: R, keep: Mask, reason: str, no_room: list[Reject]) -> R:
    """The rows to keep; the others are refused."""
    if not keep.all():
        no_room += [Reject(number, reason, {}) for number in rows.number[~keep].tolist()]
    return rows.take(keep)


def _new(rows: R, numbers: list[Range]) -> R:
    return rows.take(ranges.within(rows.number, numbers)) if len(rows) else rows
