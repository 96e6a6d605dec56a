"""Intervals as people define them. A change is judged at once, and found by the watcher should that be lost."""

import datetime as dt
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from ingest.feed.starting import start
from ingest.models import Finding, Interval, IntervalsDue, Run
from ingest.store import findings
from ingest.store.findings import Changed

_AGAIN = dt.timedelta(minutes=10)  # when what failed is tried again, unless somebody changes it before
TASK = "ingest.judge_intervals"
MOST = 32  # of a project, and of a run
_CHANGED = "The interval that this was said of is no longer asked for."
_DUE = """
INSERT INTO ingest_intervalsdue (run_id, asked_at)
SELECT id, clock_timestamp() FROM ingest_run WHERE team_id = %s AND project = %s AND (%s::uuid IS NULL OR id = %s)
ON CONFLICT (run_id) DO UPDATE SET asked_at = excluded.asked_at
"""


@transaction.atomic
def save(row: Interval, seen: Run) -> None:
    """Store a definition; that of a run looked at (`seen`) is judged first."""
    before = Interval.objects.filter(pk=row.pk).first() if row.pk else None
    row.save()
    _judge(row, seen)
    if before is not None and before.run_id != row.run_id:
        _judge(before, seen)


@transaction.atomic
def remove(row: Interval, seen: Run) -> None:
    """Forget a definition."""
    row.delete()
    _judge(row, seen)


def is_due(run_id: UUID) -> dt.datetime | None:
    """When the run's intervals were last changed, if they have not been judged since."""
    return IntervalsDue.objects.filter(pk=run_id).values_list("asked_at", flat=True).first()


def judged(run_id: UUID, asked_at: dt.datetime | None) -> None:
    """They have been, as they were asked for then."""
    if asked_at is not None:
        IntervalsDue.objects.filter(pk=run_id, asked_at=asked_at).delete()


def put_off(run_id: UUID, asked_at: dt.datetime | None) -> None:
    """They could not be, as they were asked for then: the watcher asks again later, and for others meanwhile."""
    if asked_at is not None:
        IntervalsDue.objects.filter(pk=run_id, asked_at=asked_at).update(asked_at=timezone.now() + _AGAIN)


def withdraw_others(run: Run, kind: str, asked: set[tuple[str, str]]) -> Changed:
    """Take back what was found of definitions that are not `asked` (name and Interval.identity, as findings keep).

    Of a run that has ended people are not told what was over anyway.
    """
    quiet = run.ended_at is not None
    rows = Finding.objects.filter(run=run, kind=kind).exclude(workers=[])
    stale = [row for row in rows if (row.phase, row.evidence.get("interval")) not in asked]
    return [changed for row in stale if (changed := findings.withdraw_one(row, _CHANGED, quiet=quiet))]


def _judge(row: Interval, seen: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [row.team_id, row.project, row.run_id, row.run_id])
    transaction.on_commit(lambda: start(TASK, str(seen.pk)), robust=True)
