"""Ended phases of a run one by one, as scripts read them."""

import json
from dataclasses import dataclass
from typing import Any

from django.db import connection

from ingest.models import Run
from ingest.queries.pages import Page, Place, page
from roundwatch.wire import KINDS, PHASE_STATES

_ROWS = """
SELECT w.name, p.round, n.name, n.kind, p.begin_ns, p.end_ns, p.state, p.attrs, p.stream_id, p.number
FROM ingest_phase p
JOIN ingest_worker w ON w.id = p.worker_id
JOIN ingest_phasename n ON n.run_id = p.run_id AND n.index = p.name_index
WHERE p.run_id = %(run)s AND p.arrived BETWEEN %(first_day)s AND %(last_day)s
  AND (%(round)s::int IS NULL OR p.round = %(round)s)
  AND (%(worker)s::text IS NULL OR w.name = %(worker)s)
  AND (%(name)s::text IS NULL OR n.name = %(name)s)
  AND p.begin_ns >= %(begin)s AND p.begin_ns < %(end)s
  AND (p.begin_ns, p.stream_id, p.number) > (%(after_ns)s, %(after_stream)s, %(after_number)s)
ORDER BY p.begin_ns, p.stream_id, p.number LIMIT %(limit)s
"""
_FOREVER_NS = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFigures:
    """An ended phase; times are Unix nanoseconds, `round` is -1 outside of any round."""

    worker: str
    round: int
    name: str
    kind: str
    begin_ns: int
    end_ns: int
    state: str
    attrs: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which phases; None asks nothing. Begun in [begin_ns, end_ns)."""

    round: int | None = None
    worker: str | None = None
    name: str | None = None
    begin_ns: int | None = None
    end_ns: int | None = None


def listed(run: Run, wanted: Wanted, *, after: Place | None, limit: int) -> Page[PhaseFigures]:
    """The run's ended phases by begin."""
    after_ns, after_stream, after_number = after or (-1, -1, -1)
    parameters = {
        "run": run.pk, "first_day": run.first_day, "last_day": run.last_day, "round": wanted.round,
        "worker": wanted.worker, "name": wanted.name, "begin": max(wanted.begin_ns or 0, after_ns),
        "end": _FOREVER_NS if wanted.end_ns is None else wanted.end_ns, "after_ns": after_ns,
        "after_stream": after_stream, "after_number": after_number, "limit": limit + 1,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, parameters)
        return page(cursor.fetchall(), limit, _figures, lambda row: (row[4], row[8], row[9]))


def _figures(row: tuple[Any, ...]) -> PhaseFigures:
    worker, index, name, kind, begin_ns, end_ns, state, attrs, _, _ = row
    return PhaseFigures(
        worker=worker, round=index, name=name, kind=KINDS[kind], begin_ns=begin_ns, end_ns=end_ns,
        state=PHASE_STATES[state], attrs=json.loads(attrs) if attrs else {},
    )  # fmt: skip
