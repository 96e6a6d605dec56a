"""What a run used: memory at its highest."""

from dataclasses import dataclass

from django.db import connection

from ingest.feed.messages import unix_ns
from ingest.models import Run

_MOST_SERIES = 32
_MOST_READINGS = 40_000
_PERIOD_NS = 10**9  # the closest that samplers read
_MEMORY = "process_memory_bytes"

_OWNERS = """
SELECT c.id, w.role FROM ingest_series c JOIN ingest_stream s ON s.id = c.stream_id
JOIN ingest_worker w ON w.id = coalesce(c.worker_id, s.worker_id)
WHERE s.run_id = %s AND c.metric = %s ORDER BY w.role = 'coordinator' DESC, w.index, s.attempt DESC LIMIT %s
"""
_PEAK = """
SELECT max(read.highest) FROM unnest(%s::int8[]) AS chosen (id) CROSS JOIN LATERAL (
    SELECT max(value) AS highest FROM ingest_sample
    WHERE series_id = chosen.id AND time_ns >= %s AND arrived BETWEEN %s AND %s AND value < 'Infinity') AS read
"""


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest reading of `series` processes of a role, in the last `span_s` seconds of readings; bytes."""

    nbytes: float
    role: str
    series: int
    span_s: float


def memory_peak(run: Run) -> Peak | None:
    """The highest memory of its coordinators' processes, of its first trainers' where it has none; None if unread."""
    with connection.cursor() as cursor:
        cursor.execute(_OWNERS, [run.pk, _MEMORY, _MOST_SERIES])
        rows = cursor.fetchall()
        if not rows:
            return None
        role = rows[0][1]
        series = [key for key, of in rows if of == role]
        span_ns = _MOST_READINGS // len(series) * _PERIOD_NS
        until_ns = unix_ns(run.ended_at or run.heard_at) or 0
        cursor.execute(_PEAK, [series, until_ns - span_ns, run.first_day, run.last_day])
        highest = cursor.fetchone()[0]
    begun_ns = unix_ns(run.started_at) or 0
    return None if highest is None else Peak(highest, role, len(series), min(span_ns, until_ns - begun_ns) / 1e9)
