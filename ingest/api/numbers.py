"""The law of a batch's numbers: each of `first` .. `first + count - 1` has a record, a start or a drop, and
no other.
"""

import numpy as np

from ingest.api.columns import LIMIT
from ingest.store.arrivals import Fault, Ints
from roundwatch import wire


def records_in(batch: wire.Batch) -> int:
    """How many records, starts and drops a batch carries."""
    columns = (batch.phases, batch.rounds, batch.events, batch.samples)
    return sum(len(part.number) for part in columns) + len(batch.starts) + len(batch.lifecycle) + len(batch.drops)


def require_cover(batch: wire.Batch, numbers: Ints, field: str) -> None:
    """Raise Fault 422 unless `numbers` and the batch's drops make up its range exactly."""
    if not 0 <= batch.first <= LIMIT or not 0 <= batch.count <= LIMIT or not -1 <= batch.highest <= LIMIT:
        raise Fault(422, "numbers", "first, count or highest is out of range.", field)
    covered = _distinct(numbers) + _dropped(batch, numbers, field)
    lowest, beyond = batch.first, batch.first + batch.count
    if numbers.size and (numbers.min() < lowest or numbers.max() >= beyond):
        raise Fault(422, "numbers", "A record's number lies outside of first .. first + count - 1.", field)
    if covered != batch.count:
        raise Fault(422, "numbers", "The records do not cover first .. first + count - 1.", field)


def _distinct(numbers: Ints) -> int:
    return int(np.unique(numbers).size)


def _dropped(batch: wire.Batch, numbers: Ints, field: str) -> int:
    """How many numbers the drops stand for; raises Fault 422 where they overlap each other or a record."""
    total, reached = 0, batch.first
    ordered = np.sort(numbers)
    for drop in sorted(batch.drops, key=lambda drop: drop.number):
        end = drop.number + drop.span
        if drop.span < 1 or drop.number < reached or end > batch.first + batch.count:
            raise Fault(422, "numbers", "A drop overlaps another or lies outside of the batch.", field)
        if np.searchsorted(ordered, drop.number) != np.searchsorted(ordered, end):
            raise Fault(422, "numbers", "A drop overlaps a record.", field)
        total, reached = total + drop.span, end
    return total
