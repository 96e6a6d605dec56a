"""What the live view of a run draws: samples and gaps by time, and all of it by stream number, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.backends.utils import CursorWrapper

from ingest.feed.messages import LostRecords, Spans, unix_ns
from ingest.models import Run
from ingest.queries.fixed_rows import Columns, read_columns

# Samples of a machine that go with a run: until so long after its end.
_AFTER_END_NS = 60 * 10**9
_FOREVER_NS = (1 << 63) - 1

_SPAN_COLUMNS = """p.begin_ns, p.end_ns, p.start_number, p.parent, p.round, w.index, s.index, p.name_index, p.state,
    p.thread"""
_SPAN_TYPES = dict.fromkeys(("begin_ns", "end_ns", "start_number", "parent"), "int8") | dict.fromkeys(
    ("round", "lane", "attempt", "phase", "state", "thread"), "int4"
)
# The run's own streams, and those that machines of its workers have sent since it began.
STREAMS_OF_RUN = """
    SELECT id, true AS own FROM ingest_stream WHERE run_id = %s
    UNION ALL
    SELECT id, false FROM ingest_stream
    WHERE team_id = %s AND run_id IS NULL AND NOT deleted AND machine <> '' AND heard_at >= %s
      AND machine IN (SELECT machine FROM ingest_worker WHERE run_id = %s)"""
_SAMPLE_TYPES = {"series": "int8", "time_ns": "int8", "value": "float8"}


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time, Unix ns; what touches it belongs to it."""

    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Records `first` .. `last` of a stream; no phase among them has a start number below `lowest_start`."""

    stream: int
    first: int
    last: int
    lowest_start: int = 0


def spans_by_number(cursor: CursorWrapper, run: Run, wanted: Sequence[Wanted], limit: int) -> Spans:
    """The run's closed phases among these records, at most `limit`."""
    columns = read_columns(
        cursor,
        f"""SELECT {_SPAN_COLUMNS}
            FROM unnest(%s::int8[], %s::int8[], %s::int8[], %s::int8[]) AS m (stream, first, last, lowest)
            JOIN ingest_phase p ON p.stream_id = m.stream AND p.number BETWEEN m.first AND m.last
                               AND p.start_number BETWEEN m.lowest AND m.last
            JOIN ingest_stream s ON s.id = p.stream_id JOIN ingest_worker w ON w.id = p.worker_id
            WHERE p.run_id = %s AND p.arrived >= %s LIMIT %s""",  # noqa: S608 - only our own column names are put in
        [*_unnested(wanted), [each.lowest_start for each in wanted], run.pk, run.first_day, limit],
        _SPAN_TYPES,
    )
    return Spans(**columns)


def samples(cursor: CursorWrapper, run: Run, window: Window, limit: int) -> Columns:
    """Samples of the run's workers, and of their machines while it ran: `series`, `time_ns`, `value`; oldest first."""
    own, machines = _series(cursor, run)
    ran = while_it_ran(run, window)
    columns = read_columns(
        cursor,
        """SELECT series_id, time_ns, value FROM (
               SELECT series_id, time_ns, value FROM ingest_sample
               WHERE series_id = ANY(%s::int8[]) AND time_ns BETWEEN %s AND %s AND arrived >= %s
               UNION ALL
               SELECT series_id, time_ns, value FROM ingest_sample
               WHERE series_id = ANY(%s::int8[]) AND time_ns BETWEEN %s AND %s AND arrived >= %s) AS both_kinds
           ORDER BY time_ns DESC LIMIT %s""",
        [own, window.from_ns, window.to_ns, run.first_day, machines, ran.from_ns, ran.to_ns, run.first_day, limit],
        _SAMPLE_TYPES,
    )
    return {name: column[::-1] for name, column in columns.items()}


def samples_by_number(
    cursor: CursorWrapper, run: Run, wanted: Sequence[Wanted], *, since_ns: int, limit: int
) -> Columns:
    """Samples among these records, not older than `since_ns`; those of a machine only while the run ran."""
    ran = while_it_ran(run, Window(since_ns, _FOREVER_NS))
    return read_columns(
        cursor,
        """SELECT p.series_id, p.time_ns, p.value
           FROM unnest(%s::int8[], %s::int8[], %s::int8[]) AS m (stream, first, last)
           JOIN ingest_stream s ON s.id = m.stream
           JOIN ingest_series c ON c.stream_id = m.stream
           JOIN ingest_sample p ON p.series_id = c.id AND p.number BETWEEN m.first AND m.last
           WHERE p.arrived >= %s AND p.time_ns >= %s
             AND (s.run_id IS NOT NULL OR p.time_ns BETWEEN %s AND %s) LIMIT %s""",
        [*_unnested(wanted), run.first_day, since_ns, ran.from_ns, ran.to_ns, limit],
        _SAMPLE_TYPES,
    )


def gaps(cursor: CursorWrapper, run: Run, limit: int) -> list[LostRecords]:
    """Records of the run's workers that will never come, the newest `limit`."""
    cursor.execute(
        """SELECT coalesce(g.begin_ns, -1), coalesce(g.end_ns, -1), g.count, w.index, s.index
           FROM ingest_gap g JOIN ingest_stream s ON s.id = g.stream_id JOIN ingest_worker w ON w.id = s.worker_id
           WHERE s.run_id = %s ORDER BY g.id DESC LIMIT %s""",
        [run.pk, limit],
    )
    return [LostRecords(*row) for row in cursor.fetchall()]


def gaps_by_number(cursor: CursorWrapper, run: Run, wanted: Sequence[Wanted]) -> list[LostRecords]:
    """Gaps that begin among these records."""
    cursor.execute(
        """SELECT coalesce(g.begin_ns, -1), coalesce(g.end_ns, -1), g.count, w.index, s.index
           FROM unnest(%s::int8[], %s::int8[], %s::int8[]) AS m (stream, first, last)
           JOIN ingest_gap g ON g.stream_id = m.stream AND g.number BETWEEN m.first AND m.last
           JOIN ingest_stream s ON s.id = g.stream_id JOIN ingest_worker w ON w.id = s.worker_id
           WHERE s.run_id = %s""",
        [*_unnested(wanted), run.pk],
    )
    return [LostRecords(*row) for row in cursor.fetchall()]


def rounds_window(cursor: CursorWrapper, run: Run, newest: int, until_ns: int) -> Window:
    """From the begin of the run's `newest`-last round to `until_ns`."""
    cursor.execute(
        """SELECT min(begin_ns) FROM (
               SELECT begin_ns FROM ingest_round WHERE run_id = %s ORDER BY begin_ns DESC LIMIT %s) AS last""",
        [run.pk, newest],
    )
    begin_ns: int | None = cursor.fetchone()[0]
    return Window(until_ns if begin_ns is None else begin_ns, until_ns)


def _series(cursor: CursorWrapper, run: Run) -> tuple[list[int], list[int]]:
    """Series of the run's own streams, and of the machines of its workers."""
    cursor.execute(
        f"""SELECT c.id, s.own FROM ({STREAMS_OF_RUN}) AS s JOIN ingest_series c ON c.stream_id = s.id""",  # noqa: S608 - ours
        streams_of(run),
    )
    rows = cursor.fetchall()
    return [key for key, own in rows if own], [key for key, own in rows if not own]


def streams_of(run: Run) -> list[Any]:
    """Parameters of `STREAMS_OF_RUN`."""
    return [run.pk, run.team_id, run.started_at, run.pk]


def while_it_ran(run: Run, window: Window) -> Window:
    """The part of the window in which samples of its machines go with the run."""
    started_ns = unix_ns(run.started_at) or 0
    ended_ns = unix_ns(run.ended_at)
    until_ns = _FOREVER_NS if ended_ns is None else ended_ns + _AFTER_END_NS
    return Window(max(window.from_ns, started_ns), min(window.to_ns, until_ns))


def _unnested(wanted: Sequence[Wanted]) -> list[list[int]]:
    return [[each.stream for each in wanted], [each.first for each in wanted], [each.last for each in wanted]]
