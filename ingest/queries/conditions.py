"""Conditions of a run: what each attempt of its workers said of its hardware, limits, versions and settings."""

import datetime as dt
import json
from dataclasses import dataclass
from typing import Any

from django.db import connection

from ingest.models import Run
from ingest.queries.pages import Page, Place

# Together with what is read after it this is more than any page shows; a run may hold a hundred times as much.
_MOST_CHARS = 8 << 20
_TOLD = """
SELECT name, role, machine, host, attempt, newest, facts FROM (
    SELECT w.index, w.name, w.role, coalesce(nullif(s.machine, ''), w.machine) AS machine, w.host, s.attempt,
           s.attempt = max(s.attempt) OVER (PARTITION BY w.id) AS newest, c.facts::text AS facts,
           sum(length(c.facts::text)) OVER (ORDER BY s.attempt DESC, w.index) AS read
    FROM ingest_conditions c JOIN ingest_stream s ON s.id = c.stream_id JOIN ingest_worker w ON w.id = s.worker_id
    WHERE s.run_id = %s) AS told
WHERE read <= %s ORDER BY index, attempt
"""
_MOST_PAGE_CHARS = 4 << 20
# One row more than is shown, for there to be a next page; a page that grows too large ends early, after one at least.
_LISTED = """
WITH next AS (
    SELECT w.index AS worker, s.index AS stream, w.name, w.role, coalesce(nullif(s.machine, ''), w.machine) AS machine,
           w.host, s.attempt, s.began_at, c.facts::text AS facts
    FROM ingest_conditions c JOIN ingest_stream s ON s.id = c.stream_id JOIN ingest_worker w ON w.id = s.worker_id
    WHERE s.run_id = %(run)s AND (%(name)s::text IS NULL OR w.name = %(name)s)
      AND (w.index, s.index) > (%(after_worker)s, %(after_stream)s)
    ORDER BY w.index, s.index LIMIT %(limit)s)
SELECT *, sum(length(facts)) OVER (ORDER BY worker, stream) - length(facts) FROM next
ORDER BY worker, stream
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What an attempt said; `newest` is that of its worker's attempts that said anything last."""

    worker: str
    role: str
    machine: str
    host: str
    attempt: int
    newest: bool
    facts: dict[str, Any]


def told(run: Run) -> list[Told]:
    """Of all workers in order, attempt by attempt; of very much the earliest workers and the latest attempts."""
    with connection.cursor() as cursor:
        cursor.execute(_TOLD, [run.pk, _MOST_CHARS])
        rows = [dict(zip(Told.__slots__, row, strict=True)) for row in cursor.fetchall()]
    return [Told(**row | {"facts": json.loads(row["facts"])}) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptConditions:
    """What an attempt of a worker said where it began."""

    worker: str
    role: str
    machine: str
    host: str
    attempt: int
    started_at: dt.datetime
    facts: dict[str, Any]


def listed(run: Run, *, worker: str | None, after: Place | None, limit: int) -> Page[AttemptConditions]:
    """Of each attempt that said anything, by worker and attempt; a page may be shorter than `limit`."""
    after_worker, after_stream = after or (-1, -1)
    parameters = {
        "run": run.pk, "name": worker, "after_worker": after_worker, "after_stream": after_stream, "limit": limit + 1,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_LISTED, parameters)
        rows = cursor.fetchall()
    shown = [row for row in rows[:limit] if row[-1] < _MOST_PAGE_CHARS]
    return Page([_attempt(row) for row in shown], shown[-1][:2] if len(rows) > len(shown) else None)


def _attempt(row: tuple[Any, ...]) -> AttemptConditions:
    _, _, worker, role, machine, host, attempt, started_at, facts, _ = row
    return AttemptConditions(
        worker=worker, role=role, machine=machine, host=host, attempt=attempt, started_at=started_at,
        facts=json.loads(facts),
    )  # fmt: skip
