"""States of workers and runs: what was heard, what was said, and what silence means."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from django.db import connection, transaction

from ingest.feed import messages
from ingest.feed.publisher import publish
from ingest.models import Run, Worker
from ingest.models.workers import WorkerState
from ingest.store import arrays, standings

STALE_AFTER = dt.timedelta(seconds=10)
LOST_AFTER = dt.timedelta(seconds=15)
# How far from now, on either side, a worker's last_seen may be before a batch moves it: less often costs fewer rows.
_SEEN_EVERY = dt.timedelta(milliseconds=500)
_SILENT = "Nothing was heard for 15 s."


@dataclass(frozen=True, slots=True)
class Heard:
    """What the batches of one transaction say of one stream's worker, and of the workers that the stream
    speaks for.

    `state` is set where the attempt has ended: finished, failed, killed or lost, with its reason.
    """

    stream_id: int
    worker_id: int
    attempt_began_at: dt.datetime
    alive: bool
    offset_ns: int
    error_ns: int | None
    state: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A run with workers whose state, or whose own state, has changed."""

    run_id: UUID
    worker_ids: tuple[int, ...]


# id, state, reason, last_seen, clock_offset_ns, clock_error_ns
_Row: TypeAlias = tuple[int, str, str, dt.datetime, int, int | None]
_LOCK_WORKERS = """
SELECT w.id, w.run_id, w.state, w.last_seen, w.clock_offset_ns, w.spoken_by_id,
       (SELECT max(s.began_at) FROM ingest_stream s WHERE s.worker_id = w.id)
FROM ingest_worker w WHERE w.id = ANY(%(workers)s::bigint[]) OR w.spoken_by_id = ANY(%(streams)s::bigint[])
ORDER BY w.id FOR NO KEY UPDATE OF w
"""
_SAVE_WORKERS = """
UPDATE ingest_worker w SET state = v.state, last_seen = v.seen,
       state_reason = CASE WHEN w.state = v.state THEN w.state_reason ELSE v.reason END,
       clock_offset_ns = v.offset_ns, clock_error_ns = v.error_ns
FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::timestamptz[], %s::bigint[], %s::bigint[])
     AS v (id, state, reason, seen, offset_ns, error_ns)
WHERE w.id = v.id
"""


def hear(heard: Sequence[Heard], now: dt.datetime) -> list[Change]:
    """Bring workers up to what their streams said, within the caller's transaction; returns whose state
    changed.

    The caller brings their runs up to them (`refresh_runs`) once it has locked all runs that it changes.
    """
    by_stream, by_worker = {item.stream_id: item for item in heard}, _by_worker(heard)
    rows: list[_Row] = []
    changed: dict[UUID, list[int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_WORKERS, {"workers": arrays.numbers(by_worker), "streams": arrays.numbers(by_stream)})
        for worker_id, run_id, state, last_seen, clock, spoken_by, newest in cursor.fetchall():
            word = by_worker.get(worker_id) or by_stream.get(spoken_by)
            if word is None or (newest is not None and word.attempt_began_at < newest):
                continue  # late words of an earlier attempt
            turned = _next_state(state, word)
            if turned != state:
                changed.setdefault(run_id, []).append(worker_id)
            elif not word.alive or (clock is not None and now - _SEEN_EVERY < last_seen <= now + _SEEN_EVERY):
                continue
            heard_at = now if word.alive else last_seen
            rows.append((worker_id, str(turned), word.reason, heard_at, word.offset_ns, word.error_ns))
    _save_workers(rows)
    return [Change(run_id, tuple(workers)) for run_id, workers in changed.items()]


def _by_worker(heard: Sequence[Heard]) -> dict[int, Heard]:
    """Who speaks for each worker: of two attempts heard together, the younger."""
    speaking: dict[int, Heard] = {}
    for item in heard:
        known = speaking.get(item.worker_id)
        if known is None or known.attempt_began_at <= item.attempt_began_at:
            speaking[item.worker_id] = item
    return speaking


def _save_workers(rows: Sequence[_Row]) -> None:
    if not rows:
        return
    ids, states, reasons, seen, offsets, errors = zip(*rows, strict=True)
    columns = (arrays.numbers(ids), arrays.texts(states), arrays.texts(reasons), arrays.times(seen))
    with connection.cursor() as cursor:
        cursor.execute(_SAVE_WORKERS, [*columns, arrays.numbers(offsets), arrays.numbers(errors)])


def _next_state(state: str, heard: Heard) -> str:
    if heard.state is not None:
        return heard.state
    silent = state in {WorkerState.STALE, WorkerState.LOST}
    return WorkerState.RUNNING if heard.alive and silent else state


# A run goes on while any worker does; once all have ended, the worst end is the run's.
_REFRESH = """
UPDATE ingest_run r SET state = n.state, ended_at = CASE WHEN n.ended THEN n.at END
FROM (
    SELECT w.run_id,
           CASE WHEN bool_or(w.state = 'running') THEN 'running' WHEN bool_or(w.state = 'stale') THEN 'stale'
                WHEN bool_or(w.state = 'failed') THEN 'failed' WHEN bool_or(w.state = 'killed') THEN 'killed'
                WHEN bool_or(w.state = 'lost') THEN 'lost' ELSE 'finished' END AS state,
           bool_and(w.state NOT IN ('running', 'stale')) AS ended,
           max(coalesce(s.ended_at, w.last_seen)) AS at
    FROM ingest_worker w LEFT JOIN ingest_stream s ON s.worker_id = w.id AND s.attempt = w.attempt
    WHERE w.run_id = ANY(%(runs)s) GROUP BY w.run_id
) n
WHERE r.id = n.run_id AND (r.state <> n.state OR (r.ended_at IS NULL) = n.ended)
RETURNING r.id
"""


def refresh_runs(run_ids: Iterable[UUID]) -> list[UUID]:
    """Bring runs up to the states of their workers, within the caller's transaction; returns those that changed."""
    ids = sorted(run_ids)
    if not ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM ingest_run WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [ids])
        cursor.execute(_REFRESH, {"runs": ids})
        changed = [run_id for (run_id,) in cursor.fetchall()]
    standings.note(changed)
    return changed


# What was seen in times to come was seen by a clock that has been set back since; its silence counts from now. Seconds
# ahead, and not `ahead.MOST_AHEAD`: for as long as that silence would be seen later.
_SET_BACK = """
UPDATE ingest_worker SET last_seen = %(now)s WHERE id IN (
    SELECT id FROM ingest_worker WHERE state IN ('running', 'stale') AND last_seen > %(ahead)s
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
"""
# A worker being heard at this moment is locked and passed over.
_SWEEP = """
UPDATE ingest_worker w SET state = v.state, state_reason = v.reason
FROM (
    SELECT id,
           CASE WHEN last_seen < %(lost)s THEN 'lost' ELSE 'stale' END AS state,
           CASE WHEN last_seen < %(lost)s THEN %(silent)s ELSE '' END AS reason
    FROM ingest_worker
    WHERE (state IN ('running', 'stale') AND last_seen < %(lost)s)
       OR (state = 'running' AND last_seen < %(stale)s)
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
) v
WHERE w.id = v.id
RETURNING w.id, w.run_id
"""


def sweep(now: dt.datetime) -> list[Change]:
    """Turn workers unheard for 10 s stale and for 15 s lost, runs with them, and tell viewers. Returns what changed."""
    limits: dict[str, dt.datetime | str] = {"stale": now - STALE_AFTER, "lost": now - LOST_AFTER, "silent": _SILENT}
    limits |= {"now": now, "ahead": now + STALE_AFTER}
    changed: dict[UUID, list[int]] = {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_SET_BACK, limits)
        cursor.execute(_SWEEP, limits)
        for worker_id, run_id in cursor.fetchall():
            changed.setdefault(run_id, []).append(worker_id)
        refresh_runs(changed)
    changes = [Change(run_id, tuple(workers)) for run_id, workers in changed.items()]
    for change in changes:
        publish(change.run_id, message(change))
    return changes


def message(change: Change) -> bytes:
    """The META frame that tells of a change."""
    run = Run.objects.get(pk=change.run_id)
    lanes = [messages.lane_entry(worker) for worker in Worker.objects.filter(pk__in=change.worker_ids)]
    return messages.meta(run=messages.run_entry(run), lanes=lanes)
