"""Deleting a run: its streams become tombstones first, then its rows go in slices, and the run itself last.

What is left to do can be read from the database at any moment (a deletion whose run is still there), so one that was
interrupted goes on where it stopped; how far it has come is kept beside each slice.
"""

import datetime as dt
import time
from collections.abc import Sequence
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Q, Sum
from django.utils import timezone

from ingest.feed.starting import start
from ingest.models import Deletion, Run, Stream
from ingest.store.exports import SWEEP
from ingest.store.locks import Lock, hold

DELETE = "ingest.delete_run"  # the task that goes on
_SLICE = 20_000
_IN_ONE_GO_S = 8.0
_AT_A_TIME = 20
_HELD = dt.timedelta(seconds=20)  # longer than Celery lets a task live

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
    # The run is locked before what sums it up, as who sums it up does.
    "SELECT 1 FROM ingest_run WHERE id = %(key)s FOR UPDATE",
    "DELETE FROM ingest_standing WHERE run_id = %(key)s",
    "DELETE FROM ingest_setting WHERE run_id = %(key)s",
    "DELETE FROM ingest_export WHERE run_id = %(key)s",
    "DELETE FROM ingest_run WHERE id = %(key)s",
)


def begin(run_id: UUID, within_s: float = _IN_ONE_GO_S) -> bool:
    """Stop taking records of the run and delete what fits into a request; returns whether all of it is gone."""
    return not mark(run_id) or go_on(run_id, within_s)


def go_on(run_id: UUID, within_s: float = _IN_ONE_GO_S) -> bool:
    """Delete for some seconds, unless somebody else is at it, and ask for the rest; returns whether the run is gone."""
    now = timezone.now()
    free = Deletion.objects.filter(Q(held_until=None) | Q(held_until__lte=now), pk=run_id, done_at=None)
    if not free.update(held_until=now + _HELD):
        return False
    is_gone = advance(run_id, within_s)
    Deletion.objects.filter(pk=run_id).update(held_until=None)
    if not is_gone:
        start(DELETE, str(run_id))
    return is_gone


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
        while _delete(run_id, statement, key):
            if time.monotonic() > deadline:
                return False
    _finish(run_id)
    return True


def unfinished() -> list[UUID]:
    """Runs whose deletion has begun and not ended."""
    marked = Run.objects.filter(streams__deleted=True).values_list("pk", flat=True).distinct()
    return list({*Deletion.objects.filter(done_at=None).values_list("pk", flat=True), *marked})


def to_reclaim() -> list[Deletion]:
    """Deletions that are over and whose space is not used again yet, the oldest first."""
    return list(Deletion.objects.filter(done_at__isnull=False, reclaimed_at=None).order_by("done_at")[:_AT_A_TIME])


def reclaimed(done: Sequence[Deletion]) -> None:
    """Write down that their space may be used again."""
    Deletion.objects.filter(pk__in=[one.pk for one in done]).update(reclaimed_at=timezone.now())


@transaction.atomic
def mark(run_id: UUID) -> bool:
    """Begin a deletion without deleting anything yet: nothing of the run is let in; False where it is gone already."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        return False
    stored = Stream.objects.filter(run=run).aggregate(rows=Sum("stored_count"))["rows"] or 0
    Deletion.objects.get_or_create(
        pk=run_id,
        defaults={
            "team_id": run.team_id, "project": run.project, "key": run.key, "name": run.name,
            "started_at": run.started_at, "first_day": run.first_day, "last_day": run.last_day,
            "rows_total": stored, "begun_at": timezone.now(),
        },
    )  # fmt: skip
    Stream.objects.filter(run=run).update(deleted=True)
    return True


@transaction.atomic
def _delete(run_id: UUID, statement: str, key: UUID | int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"key": key, "slice": _SLICE})
        count = int(cursor.rowcount)
    Deletion.objects.filter(pk=run_id).update(rows_deleted=F("rows_deleted") + count)
    return count


@transaction.atomic
def _finish(run_id: UUID) -> None:
    for team in Run.objects.filter(pk=run_id).values_list("team_id", flat=True):
        hold(Lock.INTERVALS, team)  # else one could be defined for the run between the deletion of both
    with connection.cursor() as cursor:
        for statement in _LAST:
            cursor.execute(statement, {"key": run_id})
    Deletion.objects.filter(pk=run_id).update(done_at=timezone.now())
    transaction.on_commit(lambda: start(SWEEP), robust=True)  # the files that were made of it
