"""Events of a run: those of a stretch of time or of stream numbers as columns, and one with all that it told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.backends.utils import CursorWrapper

from ingest.feed.events import Events
from ingest.models import PhaseName, Run, Stream, Worker
from ingest.queries.fixed_rows import read_columns
from ingest.queries.live import Wanted, Window

_COLUMNS = "e.time_ns, e.number, e.round, w.index, s.index, e.name_index, e.thread"
_TYPES = {"time_ns": "int8", "number": "int8"} | dict.fromkeys(("round", "lane", "attempt", "name", "thread"), "int4")
_NEAR_NS = 60 * 10**9  # events are found by their time, which a viewer knows but for the rounding of its frames
_NAMES = "JOIN ingest_stream s ON s.id = e.stream_id JOIN ingest_worker w ON w.id = e.worker_id"


@dataclass(frozen=True, slots=True)
class EventDetail:
    """An event; `time_ns` is Unix time on the server's clock, `clock_error_ns` None where nothing bounds it."""

    worker: Worker
    attempt: int
    attempt_number: int
    number: int
    name: str
    round: int
    thread: int
    time_ns: int
    clock_error_ns: int | None
    attrs: dict[str, Any]


def events(cursor: CursorWrapper, run: Run, window: Window, limit: int) -> Events:
    """The run's events of the window, at most the newest `limit`, oldest first."""
    columns = read_columns(
        cursor,
        f"""SELECT {_COLUMNS} FROM ingest_event e {_NAMES}
            WHERE e.run_id = %s AND e.arrived BETWEEN %s AND %s AND e.time_ns BETWEEN %s AND %s
            ORDER BY e.time_ns DESC LIMIT %s""",  # noqa: S608 - only our own column names are put in
        [run.pk, run.first_day, run.last_day, window.from_ns, window.to_ns, limit],
        _TYPES,
    )
    return Events(**{name: column[::-1] for name, column in columns.items()})


def events_by_number(cursor: CursorWrapper, run: Run, wanted: Sequence[Wanted], *, since_ns: int, limit: int) -> Events:
    """The run's events among these records, not older than `since_ns`, at most `limit`."""
    columns = read_columns(
        cursor,
        f"""SELECT {_COLUMNS} FROM unnest(%s::int8[], %s::int8[], %s::int8[]) AS m (stream, first, last)
            JOIN ingest_event e ON e.stream_id = m.stream AND e.number BETWEEN m.first AND m.last
            {_NAMES}
            WHERE e.run_id = %s AND e.arrived >= %s AND e.time_ns >= %s LIMIT %s""",  # noqa: S608 - ours
        [
            [each.stream for each in wanted], [each.first for each in wanted], [each.last for each in wanted],
            run.pk, run.first_day, since_ns, limit,
        ],
        _TYPES,
    )  # fmt: skip
    return Events(**columns)


def event_detail(cursor: CursorWrapper, run: Run, attempt: int, number: int, near_ns: int) -> EventDetail | None:
    """The event of attempt `attempt` (Stream.index) that is record `number`, less than a minute from `near_ns`."""
    stream = Stream.objects.filter(run=run, index=attempt, worker__isnull=False).first()
    if stream is None:
        return None
    cursor.execute(
        """SELECT worker_id, name_index, round, thread, time_ns, error_ns, attrs FROM ingest_event
           WHERE run_id = %s AND time_ns BETWEEN %s AND %s AND arrived BETWEEN %s AND %s AND stream_id = %s
             AND number = %s""",
        [run.pk, near_ns - _NEAR_NS, near_ns + _NEAR_NS, run.first_day, run.last_day, stream.pk, number],
    )
    found = cursor.fetchone()
    if found is None:
        return None
    worker_id, name_index, index, thread, time_ns, error_ns, attrs = found
    named = PhaseName.objects.filter(run=run, index=name_index).first()
    return EventDetail(
        worker=Worker.objects.get(pk=worker_id), attempt=attempt, attempt_number=stream.attempt, number=number,
        name=named.name if named else "", round=index, thread=thread, time_ns=time_ns, clock_error_ns=error_ns,
        attrs=msgspec.json.decode(attrs or "{}"),
    )  # fmt: skip
