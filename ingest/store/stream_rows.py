"""Stream rows of one transaction: locked in id order, changed in memory, saved in one statement."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db import connection

from ingest.models import multiranges
from ingest.models.multiranges import Range
from ingest.store import arrays, ranges
from ingest.store.ahead import MOST_AHEAD
from ingest.store.arrivals import Arrival


@dataclass(slots=True)
class StreamRow:
    """What a transaction may change of a stream; `numbers` as sorted half-open ranges."""

    id: int
    numbers: list[Range]
    deleted: bool
    highest: int
    stored: int
    dropped: int
    rejected: int
    opens: Sequence[dict[str, Any]]
    opens_number: int
    opens_at_ns: int
    offset_ns: int
    error_ns: int | None
    heard_at: dt.datetime
    ended_at: dt.datetime | None
    end_state: str
    asked: dict[str, Any] | None

    def take(self, arrival: Arrival) -> list[Range]:
        """Note the batch's numbers as stored; returns those of them that were not, as half-open ranges."""
        end = arrival.first + arrival.count
        fresh = ranges.missing(self.numbers, arrival.first, end)
        if arrival.count:
            ranges.add(self.numbers, arrival.first, end)
        self.highest = max(self.highest, arrival.highest)
        return fresh

    def hear(self, arrival: Arrival, now: dt.datetime) -> bool:
        """Take over what holds as of the batch's last record; returns False where a later batch has been heard."""
        number = arrival.first + arrival.count - 1
        if arrival.alive:
            self.heard_at = now
        seen_ns = 0 if self.opens_at_ns > int((now + MOST_AHEAD).timestamp() * 1e9) else self.opens_at_ns
        if (number, arrival.open_at_ns) < (self.opens_number, seen_ns):
            return False
        self.opens_number, self.opens_at_ns = number, arrival.open_at_ns
        self.offset_ns, self.error_ns = arrival.offset_ns, arrival.error_ns
        self.opens = [] if self.ended_at else arrival.opens
        return True


_LOCK = """
SELECT id, numbers::text, deleted, highest, stored_count, dropped_count, rejected_count, opens, opens_number,
       opens_at_ns, offset_ns, error_ns, heard_at, ended_at, end_state, asked
FROM ingest_stream WHERE id = ANY(%s::bigint[]) ORDER BY id FOR NO KEY UPDATE
"""
_SAVE = """
UPDATE ingest_stream s
SET numbers = v.numbers::int8multirange, highest = v.highest,
    stored_count = v.stored, dropped_count = v.dropped, rejected_count = v.rejected,
    opens = v.opens::jsonb, opens_number = v.opens_number, opens_at_ns = v.opens_at_ns,
    offset_ns = v.offset_ns, error_ns = v.error_ns,
    heard_at = v.heard_at, ended_at = v.ended_at, end_state = v.end_state, asked = NULL
FROM unnest(%s::bigint[], %s::text[], %s::bigint[],
            %s::bigint[], %s::bigint[], %s::bigint[],
            %s::text[], %s::bigint[], %s::bigint[],
            %s::bigint[], %s::bigint[],
            %s::timestamptz[], %s::timestamptz[], %s::text[])
     AS v (id, numbers, highest,
           stored, dropped, rejected,
           opens, opens_number, opens_at_ns,
           offset_ns, error_ns,
           heard_at, ended_at, end_state)
WHERE s.id = v.id
"""


def lock(ids: Iterable[int]) -> dict[int, StreamRow]:
    """The rows by id, locked until the transaction ends.

    They are locked in id order, so that writers of many streams never deadlock.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [arrays.numbers(sorted(ids))])
        rows = cursor.fetchall()
    return {row[0]: _row(*row) for row in rows}


def _row(pk: int, numbers: str, *others: Any) -> StreamRow:
    before, opens, after, asked = others[:5], others[5], others[6:-1], others[-1]
    wish = None if asked is None else msgspec.json.decode(asked)
    return StreamRow(*(pk, multiranges.parse(numbers), *before, msgspec.json.decode(opens), *after, wish))


def save(rows: Sequence[StreamRow]) -> None:
    """Write the rows back. What was asked of them has been taken along."""
    if not rows:
        return
    columns = (
        arrays.numbers(row.id for row in rows),
        arrays.texts(multiranges.render(row.numbers) for row in rows),
        *(arrays.numbers(getattr(row, name) for row in rows) for name in ("highest", "stored", "dropped", "rejected")),
        arrays.texts(msgspec.json.encode(row.opens).decode() for row in rows),
        *(
            arrays.numbers(getattr(row, name) for row in rows)
            for name in ("opens_number", "opens_at_ns", "offset_ns", "error_ns")
        ),
        arrays.times(row.heard_at for row in rows),
        arrays.times(row.ended_at for row in rows),
        arrays.texts(row.end_state for row in rows),
    )
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, columns)
