"""Samples of a run one by one, as scripts read them: of its workers, and of their machines while it ran."""

from dataclasses import dataclass
from typing import Any

from django.db import connection

from ingest.models import Run
from ingest.queries.live import STREAMS_OF_RUN, Window, streams_of, while_it_ran
from ingest.queries.pages import Page, Place, page

_SERIES = f"""
SELECT c.id, s.own, coalesce(w.name, ''), coalesce(nullif(w.machine, ''), t.machine), c.device, c.metric, c.unit
FROM ({STREAMS_OF_RUN}) AS s
JOIN ingest_stream t ON t.id = s.id
JOIN ingest_series c ON c.stream_id = s.id
LEFT JOIN ingest_worker w ON w.id = coalesce(c.worker_id, t.worker_id)
"""  # noqa: S608 - ours
# Each series gives its own next readings, so that no page costs more than its series times its length.
_ROWS = """
SELECT series.id, next.time_ns, next.number, next.value
FROM unnest(%(series)s::bigint[], %(begin)s::bigint[], %(end)s::bigint[]) AS series (id, begin_ns, end_ns)
CROSS JOIN LATERAL (
    SELECT time_ns, number, value FROM ingest_sample
    WHERE series_id = series.id AND time_ns >= series.begin_ns AND time_ns < series.end_ns AND arrived >= %(day)s
      AND (time_ns, series_id, number) > (%(after_ns)s, %(after_series)s, %(after_number)s)
    ORDER BY time_ns, number LIMIT %(limit)s
) AS next
ORDER BY next.time_ns, series.id, next.number LIMIT %(limit)s
"""
_OF_SERIES = """
SELECT series_id, time_ns, number, value FROM ingest_sample
WHERE series_id = %(series)s AND time_ns >= %(begin)s AND time_ns < %(end)s AND arrived >= %(day)s
  AND (time_ns, number) > (%(after_ns)s, %(after_number)s)
ORDER BY time_ns, number LIMIT %(limit)s
"""
_FOREVER_NS = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleFigures:
    """One reading; `worker` is empty for a machine's own, `time_ns` is Unix nanoseconds."""

    worker: str
    machine: str
    device: str
    metric: str
    unit: str
    time_ns: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which samples; None asks nothing. Read in [begin_ns, end_ns)."""

    metric: str | None = None
    worker: str | None = None
    begin_ns: int | None = None
    end_ns: int | None = None


def listed(run: Run, wanted: Wanted, *, after: Place | None, limit: int) -> Page[SampleFigures]:
    """The run's samples by time."""
    after_ns, after_series, after_number = after or (-1, -1, -1)
    asked = Window(max(wanted.begin_ns or 0, after_ns), _FOREVER_NS if wanted.end_ns is None else max(wanted.end_ns, 0))
    ran = while_it_ran(run, asked)
    series = _series(run, wanted)
    parameters = {
        "series": list(series),
        "begin": [asked.from_ns if own else ran.from_ns for own, *_ in series.values()],
        "end": [asked.to_ns if own else ran.to_ns for own, *_ in series.values()],
        "day": run.first_day, "after_ns": after_ns, "after_series": after_series, "after_number": after_number,
        "limit": limit + 1,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, parameters)
        rows = cursor.fetchall()
    return page(rows, limit, lambda row: _figures(row, series), lambda row: (row[1], row[0], row[2]))


def by_series(run: Run, *, after: Place | None, limit: int) -> Page[SampleFigures]:
    """All of the run's samples, one series after the other: of many series this reads nothing twice."""
    always = Window(0, _FOREVER_NS)
    ran = while_it_ran(run, always)
    series, (after_series, after_ns, after_number) = _series(run, Wanted()), after or (-1, -1, -1)
    rows: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        for key in sorted(key for key in series if key >= after_series):
            window = always if series[key][0] else ran
            begun = key == after_series
            parameters = {
                "series": key, "begin": window.from_ns, "end": window.to_ns, "day": run.first_day,
                "after_ns": after_ns if begun else -1, "after_number": after_number if begun else -1,
                "limit": limit + 1 - len(rows),
            }  # fmt: skip
            cursor.execute(_OF_SERIES, parameters)
            rows += cursor.fetchall()
            if len(rows) > limit:
                break
    return page(rows, limit, lambda row: _figures(row, series), lambda row: tuple(row[:3]))


def _series(run: Run, wanted: Wanted) -> dict[int, tuple[Any, ...]]:
    """Series.id: (own, worker, machine, device, metric, unit) of those that are asked for."""
    with connection.cursor() as cursor:
        cursor.execute(_SERIES, streams_of(run))
        rows = {key: tuple(rest) for key, *rest in cursor.fetchall()}
    return {
        key: row for key, row in rows.items() if wanted.metric in (None, row[4]) and wanted.worker in (None, row[1])
    }


def _figures(row: tuple[Any, ...], series: dict[int, tuple[Any, ...]]) -> SampleFigures:
    key, time_ns, _, value = row
    _, worker, machine, device, metric, unit = series[key]
    return SampleFigures(
        worker=worker, machine=machine, device=device, metric=metric, unit=unit, time_ns=time_ns, value=value
    )
