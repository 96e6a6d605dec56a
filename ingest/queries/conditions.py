"""Conditions of a run: what each attempt of its workers said of its hardware, limits, versions and settings."""

import json
from dataclasses import dataclass
from typing import Any

from django.db import connection

from ingest.models import Run

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
