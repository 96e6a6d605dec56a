"""The law of a batch's numbers: each that it spans has a record, a start or a drop, and no other has."""

from dataclasses import dataclass

import numpy as np

from ingest.api.columns import LIMIT, integers
from ingest.store.arrivals import Fault, Ints
from roundwatch import wire

_NONE = np.zeros(0, np.int64)
SORTS = ("phases", "rounds", "events", "samples")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a batch's records in columns, by sort, and whether any number stands in two places."""

    of: dict[str, Ints]
    repeated: bool


def records_in(batch: wire.Batch) -> int:
    """How many records, starts and drops a batch carries."""
    columns = (batch.phases, batch.rounds, batch.events, batch.samples)
    return sum(len(part.number) for part in columns) + len(batch.starts) + len(batch.lifecycle) + len(batch.drops)


def numbers_of(batch: wire.Batch, field: str) -> Numbers:
    """The batch's numbers; raises Fault 422 unless they and the drops make up its range exactly."""
    if any(abs(record.number) >= LIMIT for record in batch.lifecycle):
        raise Fault(422, "numbers", "A number is out of range.", f"{field}.lifecycle")
    columns = {sort: _column(getattr(batch, sort).number, f"{field}.{sort}.number") for sort in SORTS}
    others = [
        np.array([record.number for record in batch.lifecycle], np.int64) if batch.lifecycle else _NONE,
        _column(batch.starts, f"{field}.starts"),
    ]
    ordered = np.concatenate([column for column in (*columns.values(), *others) if len(column)] or [_NONE])
    ordered.sort()
    repeats = int(np.count_nonzero(ordered[1:] == ordered[:-1]))
    _require_cover(batch, ordered, repeats, field)
    return Numbers(columns, repeats > 0)


def _column(differences: list[int], field: str) -> Ints:
    if not differences:
        return _NONE
    numbers, beyond = integers(differences, differences=True)
    if beyond.any():
        raise Fault(422, "numbers", "A number is out of range.", field)
    return numbers


def _require_cover(batch: wire.Batch, ordered: Ints, repeats: int, field: str) -> None:
    if not 0 <= batch.first <= LIMIT or not 0 <= batch.count <= LIMIT or not -1 <= batch.highest <= LIMIT:
        raise Fault(422, "numbers", "first, count or highest is out of range.", field)
    covered = ordered.size - repeats + _dropped(batch, ordered, field)
    if ordered.size and (ordered[0] < batch.first or ordered[-1] >= batch.first + batch.count):
        raise Fault(422, "numbers", "A record's number lies outside of first .. first + count - 1.", field)
    if covered != batch.count:
        raise Fault(422, "numbers", "The records do not cover first .. first + count - 1.", field)


def _dropped(batch: wire.Batch, ordered: Ints, field: str) -> int:
    """How many numbers the drops stand for; raises Fault 422 where they overlap each other or a record."""
    total, reached = 0, batch.first
    for drop in sorted(batch.drops, key=lambda drop: drop.number):
        end = drop.number + drop.span
        if drop.span < 1 or drop.number < reached or end > batch.first + batch.count:
            raise Fault(422, "numbers", "A drop overlaps another or lies outside of the batch.", field)
        if np.searchsorted(ordered, drop.number) != np.searchsorted(ordered, end):
            raise Fault(422, "numbers", "A drop overlaps a record.", field)
        total, reached = total + drop.span, end
    return total
