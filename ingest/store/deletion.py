"""Deleting a run: its streams become tombstones first, then its rows go in slices, and the run itself last.

What is left to do can be read from the database at any moment (a deleted stream that still has its run), so a
deletion that was interrupted goes on where it stopped.
"""

import time
from uuid import UUID

from django.db import connection, transaction

from ingest.models import Run, Stream
from ingest.store.locks import Lock, hold

_SLICE = 20_000
_IN_ONE_GO_S = 8.0

# Each takes at least the oldest _SLICE rows of a key, and says by its row count whether any were left.
_BY_TIME = """
DELETE FROM {table} WHERE {key} = %(key)s AND {time} <= ( SELECT max({time}) FROM (SELECT {time} FROM {table}
WHERE {key} = %(key)s ORDER BY {time} LIMIT %(slice)s) oldest)
"""
_PHASES = _BY_TIME.format(table="ingest_phase", key="run_id", time="begin_ns")
_EVENTS = _BY_TIME.format(table="ingest_event", key="run_id", time="time_ns")
_SAMPLES = _BY_TIME.format(table="ingest_sample", key="series_id", time="time_ns")
_PARTS = """
DELETE FROM ingest_workerround WHERE id IN (
    SELECT part.id FROM ingest_workerround part JOIN ingest_round r ON r.id = part.round_id
    WHERE r.run_id = %(key)s LIMIT %(slice)s)
"""
_OF_ITS_STREAMS = "stream_id IN (SELECT id FROM ingest_stream WHERE run_id = %(key)s)"
# In the order in which rows are locked everywhere: streams, rounds, workers, the run.
_LAST = (
    "SELECT 1 FROM ingest_stream WHERE run_id = %(key)s ORDER BY id FOR UPDATE",
    f"DELETE FROM ingest_series WHERE {_OF_ITS_STREAMS}",  # noqa: S608 - constants
    f"DELETE FROM ingest_conditions WHERE {_OF_ITS_STREAMS}",  # noqa: S608 - constants
    f"DELETE FROM ingest_gap WHERE {_OF_ITS_STREAMS}",  # noqa: S608 - constants
    f"DELETE FROM ingest_quarantine WHERE {_OF_ITS_STREAMS}",  # noqa: S608 - constants
    "DELETE FROM ingest_finding WHERE run_id = %(key)s",
    "DELETE FROM ingest_workerround WHERE round_id IN (SELECT id FROM ingest_round WHERE run_id = %(key)s)",
    "DELETE FROM ingest_analysis WHERE round_id IN (SELECT id FROM ingest_round WHERE run_id = %(key)s)",
    "DELETE FROM ingest_round WHERE run_id = %(key)s",
    "DELETE FROM ingest_interval WHERE run_id = %(key)s",
    "DELETE FROM ingest_runfigures WHERE run_id = %(key)s",
    "DELETE FROM ingest_intervalsdue WHERE run_id = %(key)s",
    "DELETE FROM ingest_phasename WHERE run_id = %(key)s",
    """UPDATE ingest_stream SET deleted = true, run_id = NULL, worker_id = NULL, opens = '[]', numbers = '{}'
       WHERE run_id = %(key)s""",
    "DELETE FROM ingest_worker WHERE run_id = %(key)s",
    "DELETE FROM ingest_thresholdchange WHERE run_id = %(key)s",
    "DELETE FROM ingest_run WHERE id = %(key)s",
)


def begin(run_id: UUID) -> bool:
    """Stop taking records of the run and delete what fits into a request; returns whether all of it is gone."""
    Stream.objects.filter(run_id=run_id).update(deleted=True)
    return advance(run_id)


def advance(run_id: UUID, within_s: float = _IN_ONE_GO_S) -> bool:
    """Delete slices for at most about `within_s` seconds; returns whether the run is gone."""
    deadline = time.monotonic() + within_s
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.id FROM ingest_series c JOIN ingest_stream s ON s.id = c.stream_id WHERE s.run_id = %s", [run_id]
        )
        series = [key for (key,) in cursor.fetchall()]
    keys: list[tuple[str, int | UUID]] = [(_SAMPLES, key) for key in series]
    keys += [(_PHASES, run_id), (_EVENTS, run_id), (_PARTS, run_id)]
    for statement, key in keys:
        while _delete(statement, key):
            if time.monotonic() > deadline:
                return False
    _finish(run_id)
    return True


def unfinished() -> list[UUID]:
    """Runs whose deletion has begun and not ended."""
    return list(Run.objects.filter(streams__deleted=True).values_list("pk", flat=True).distinct())


def _delete(statement: str, key: UUID | int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"key": key, "slice": _SLICE})
        return int(cursor.rowcount)


@transaction.atomic
def _finish(run_id: UUID) -> None:
    for team in Run.objects.filter(pk=run_id).values_list("team_id", flat=True):
        hold(Lock.INTERVALS, team)  # else one could be defined for the run between the deletion of both
    with connection.cursor() as cursor:
        for statement in _LAST:
            cursor.execute(statement, {"key": run_id})
