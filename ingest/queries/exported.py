"""What a trace of a run holds beyond what scripts read: phases with the one around each, events, gaps, open phases."""

from dataclasses import dataclass
from typing import Any

import msgspec
from django.db import connection

from ingest.models import Round, Run, Worker
from ingest.queries.live import STREAMS_OF_RUN, Window, streams_of, while_it_ran
from ingest.queries.pages import Page, Place, page
from roundwatch.wire import KINDS, PHASE_STATES

_FOREVER_NS = (1 << 63) - 1
# By the number of its start record, for of phases that begin at once the outer one began first.
_PHASES = """
SELECT w.index, p.stream_id, p.start_number, p.parent, p.thread, p.round, n.name, n.kind, p.begin_ns, p.end_ns, p.state,
       p.error_ns, p.attrs
FROM ingest_phase p
JOIN ingest_worker w ON w.id = p.worker_id
JOIN ingest_phasename n ON n.run_id = p.run_id AND n.index = p.name_index
WHERE p.run_id = %(run)s AND p.arrived BETWEEN %(first_day)s AND %(last_day)s AND p.begin_ns >= %(after_ns)s
  AND (p.begin_ns, p.stream_id, p.start_number) > (%(after_ns)s, %(after_stream)s, %(after_number)s)
ORDER BY p.begin_ns, p.stream_id, p.start_number LIMIT %(limit)s
"""
_EVENTS = """
SELECT w.index, e.thread, e.round, n.name, e.time_ns, e.attrs, e.stream_id, e.number
FROM ingest_event e
JOIN ingest_worker w ON w.id = e.worker_id
JOIN ingest_phasename n ON n.run_id = e.run_id AND n.index = e.name_index
WHERE e.run_id = %(run)s AND e.arrived BETWEEN %(first_day)s AND %(last_day)s AND e.time_ns >= %(after_ns)s
  AND (e.time_ns, e.stream_id, e.number) > (%(after_ns)s, %(after_stream)s, %(after_number)s)
ORDER BY e.time_ns, e.stream_id, e.number LIMIT %(limit)s
"""
_OPENS = """
SELECT w.index, s.id, s.opens, s.opens_at_ns FROM ingest_stream s JOIN ingest_worker w ON w.id = s.worker_id
WHERE s.run_id = %s AND s.opens <> '[]' AND NOT s.deleted ORDER BY s.id
"""
_GAPS = """
SELECT w.index, g.begin_ns, g.end_ns, g.count, g.what, g.reason, s.id, g.number
FROM ingest_gap g JOIN ingest_stream s ON s.id = g.stream_id JOIN ingest_worker w ON w.id = s.worker_id
WHERE s.run_id = %s AND (s.id, g.number) > (%s, %s) ORDER BY s.id, g.number LIMIT %s
"""
_ENDED = """
SELECT o.stream, o.start FROM unnest(%s::int8[], %s::int8[]) AS o (stream, start)
WHERE EXISTS (SELECT FROM ingest_phase p WHERE p.stream_id = o.stream AND p.start_number = o.start)
"""
_SERIES = f"SELECT c.id, s.own FROM ({STREAMS_OF_RUN}) AS s JOIN ingest_series c ON c.stream_id = s.id"  # noqa: S608 - ours
_COUNT = """
SELECT (SELECT count(*) FROM (SELECT FROM ingest_phase WHERE run_id = %(run)s LIMIT %(most)s) AS phases)
     + (SELECT count(*) FROM (SELECT FROM ingest_event WHERE run_id = %(run)s LIMIT %(most)s) AS events)
     + (SELECT count(*) FROM (
            SELECT FROM unnest(%(series)s::int8[], %(begin)s::int8[], %(end)s::int8[]) AS asked (id, begin_ns, end_ns)
            JOIN ingest_sample x ON x.series_id = asked.id AND x.time_ns >= asked.begin_ns
                                AND x.time_ns < asked.end_ns AND x.arrived >= %(day)s LIMIT %(most)s) AS samples)
"""


@dataclass(frozen=True, slots=True)
class TracePhase:
    """A phase of worker `lane`; `stream` and `start` tell it from others, `parent` is the start of the one around it.

    Times are Unix nanoseconds; of an open one `end_ns` is when it was last seen open.
    """

    lane: int
    stream: int
    start: int
    parent: int
    thread: int
    round: int
    name: str
    kind: str
    begin_ns: int
    end_ns: int
    state: str
    error_ns: int | None
    attrs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """An instant of worker `lane`, in Unix nanoseconds."""

    lane: int
    thread: int
    round: int
    name: str
    time_ns: int
    attrs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TraceGap:
    """Records of worker `lane` that will never come; times are None where nobody knows them."""

    lane: int
    begin_ns: int | None
    end_ns: int | None
    count: int
    what: str
    reason: str


def count(run: Run, most: int = 1 << 40) -> int:
    """How many phases, events and samples the run has; of each no more than `most` are counted."""
    always = Window(0, _FOREVER_NS)
    ran = while_it_ran(run, always)
    with connection.cursor() as cursor:
        cursor.execute(_SERIES, streams_of(run))
        series = [(key, always if own else ran) for key, own in cursor.fetchall()]
        parameters: dict[str, Any] = {
            "run": run.pk, "most": most, "day": run.first_day, "series": [key for key, _ in series],
            "begin": [window.from_ns for _, window in series], "end": [window.to_ns for _, window in series],
        }  # fmt: skip
        cursor.execute(_COUNT, parameters)
        return int(cursor.fetchone()[0])


def workers(run: Run) -> list[Worker]:
    """The run's workers by lane."""
    return list(Worker.objects.filter(run=run).order_by("index"))


def phases(run: Run, *, after: Place | None, limit: int) -> Page[TracePhase]:
    """The run's ended phases by begin, each after the one around it."""
    rows = _rows(_PHASES, run, after, limit)
    return page(rows, limit, _phase, lambda row: (row[8], row[1], row[2]))


def events(run: Run, *, after: Place | None, limit: int) -> Page[TraceEvent]:
    """The run's events by time."""
    return page(_rows(_EVENTS, run, after, limit), limit, _event, lambda row: (row[4], row[6], row[7]))


def open_phases(run: Run) -> list[TracePhase]:
    """Phases that have not ended, or of which no end was ever heard, by begin, each after the one around it."""
    with connection.cursor() as cursor:
        cursor.execute(_OPENS, [run.pk])
        found = [
            _open(lane, stream, one, seen_ns)
            for lane, stream, opens, seen_ns in cursor.fetchall()
            for one in msgspec.json.decode(opens)
        ]
        cursor.execute(_ENDED, [[one.stream for one in found], [one.start for one in found]])
        ended = set(cursor.fetchall())
    going = [one for one in found if (one.stream, one.start) not in ended]
    return sorted(going, key=lambda one: (one.begin_ns, one.stream, one.start))


def gaps(run: Run, *, after: Place | None, limit: int) -> Page[TraceGap]:
    """Records of the run's workers that will never come."""
    with connection.cursor() as cursor:
        cursor.execute(_GAPS, [run.pk, *(after or (-1, -1)), limit + 1])
        return page(cursor.fetchall(), limit, lambda row: TraceGap(*row[:6]), lambda row: (row[6], row[7]))


def rounds(run: Run, *, after: Place | None, limit: int) -> Page[Round]:
    """The run's rounds, all generations, by begin."""
    begin_ns, key = after or (-1, -1)
    rows = Round.objects.filter(run=run, begin_ns__gte=begin_ns).exclude(begin_ns=begin_ns, pk__lte=key)
    found = list(rows.order_by("begin_ns", "pk")[: limit + 1])
    return page(found, limit, lambda row: row, lambda row: (row.begin_ns, row.pk))


def _rows(statement: str, run: Run, after: Place | None, limit: int) -> list[tuple[Any, ...]]:
    after_ns, after_stream, after_number = after or (-1, -1, -1)
    parameters = {
        "run": run.pk, "first_day": run.first_day, "last_day": run.last_day, "after_ns": after_ns,
        "after_stream": after_stream, "after_number": after_number, "limit": limit + 1,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def _phase(row: tuple[Any, ...]) -> TracePhase:
    lane, stream, start, parent, thread, index, name, kind, begin_ns, end_ns, state, error_ns, attrs = row
    return TracePhase(
        lane, stream, start, parent, thread, index, name, KINDS[kind], begin_ns, end_ns, PHASE_STATES[state], error_ns,
        _attrs(attrs),
    )  # fmt: skip


def _open(lane: int, stream: int, one: dict[str, Any], seen_ns: int) -> TracePhase:
    return TracePhase(
        lane, stream, one["start"], one["parent"], one["thread"], one["round"], one["name"], _kind(one["kind"]),
        one["begin_ns"], max(seen_ns, one["begin_ns"]), "open", None, {},
    )  # fmt: skip


def _event(row: tuple[Any, ...]) -> TraceEvent:
    lane, thread, index, name, time_ns, attrs, _, _ = row
    return TraceEvent(lane, thread, index, name, time_ns, _attrs(attrs))


def _attrs(text: str | None) -> dict[str, Any]:
    return dict(msgspec.json.decode(text)) if text else {}


def _kind(index: int) -> str:
    return KINDS[index] if 0 <= index < len(KINDS) else "other"
