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
    spoken = np.array([True, *(ref is not None for ref in resolved.workers)])
    phases = _room(arrival.phases, spoken[arrival.phases.worker + 1], _NO_WORKER, no_room)
    phases = _room(phases, _known(resolved.names, phases.name), _NO_NAME, no_room)
    events = _room(arrival.events, _known(resolved.names, arrival.events.name), _NO_NAME, no_room)
    samples = _room(arrival.samples, _known(resolved.series, arrival.samples.series), _NO_SERIES, no_room)
    return Fresh(
        numbers,
        _new(phases, numbers),
        _new(events, numbers),
        _new(samples, numbers),
        _new(arrival.rounds, numbers),
        no_room,
    )


def _known(table: Ints, column: Ints) -> Mask:
    known: Mask = table[column] >= 0 if len(column) else np.ones(0, np.bool_)
    return known


def _room(rows: R, keep: Mask, reason: str, no_room: list[Reject]) -> R:
    """The rows to keep; the others are refused."""
    no_room += [Reject(number, reason, {}) for number in rows.number[~keep].tolist()]
    return rows.take(keep)


def _new(rows: R, numbers: list[Range]) -> R:
    return rows.take(ranges.within(rows.number, numbers)) if len(rows) else rows
