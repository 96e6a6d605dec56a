"""Intervals as people define them. A change is judged at once, and found by the watcher should that be lost."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from ingest.feed.starting import start
from ingest.models import Finding, Interval, IntervalsDue, Run
from ingest.store import findings
from ingest.store.findings import Changed
from ingest.store.locks import Lock, hold

_AGAIN = dt.timedelta(minutes=10)  # when what failed is tried again, unless somebody changes it before
TASK = "ingest.judge_intervals"
MOST = 32  # of a project, and of a run
_CHANGED = "The interval that this was said of is no longer asked for."
_DUE = """
INSERT INTO ingest_intervalsdue (run_id, asked_at)
SELECT id, clock_timestamp() FROM ingest_run WHERE team_id = %s AND project = %s AND (%s::uuid IS NULL OR id = %s)
ON CONFLICT (run_id) DO UPDATE SET asked_at = excluded.asked_at
"""


class GoneError(LookupError):
    """The definition or its run is no more."""


@contextmanager
def changing(row: Interval, seen: Run) -> Iterator[Interval | None]:
    """A transaction that alone changes the team's intervals; gives `row` as it is stored, None where it is new.

    Raises GoneError for a row that somebody has deleted, and for a run (`seen`) that is no more.
    """
    with transaction.atomic():
        hold(Lock.INTERVALS, seen.team_id)
        before = Interval.objects.filter(pk=row.pk).first() if row.pk else None
        if (row.pk and before is None) or not Run.objects.filter(pk=seen.pk).exists():
            raise GoneError
        yield before


def save(row: Interval, seen: Run) -> None:
    """Store a definition; that of a run looked at (`seen`) is judged first. Raises GoneError, as `changing` does."""
    with changing(row, seen) as before:
        row.save()
        _judge(row, seen)
        if before is not None and before.run_id != row.run_id:
            _judge(before, seen)


def remove(row: Interval, seen: Run) -> None:
    """Forget a definition. Raises GoneError, as `changing` does."""
    with changing(row, seen):
        row.delete()
        _judge(row, seen)


def is_due(run_id: UUID) -> dt.datetime | None:
    """When the run's intervals were last changed, if they have not been judged since and are to be by now."""
    return IntervalsDue.objects.filter(pk=run_id, asked_at__lte=Now()).values_list("asked_at", flat=True).first()


def judged(run_id: UUID, asked_at: dt.datetime | None) -> None:
    """They have been, as they were asked for then."""
    if asked_at is not None:
        IntervalsDue.objects.filter(pk=run_id, asked_at=asked_at).delete()


def put_off(run_id: UUID, asked_at: dt.datetime | None) -> None:
    """They could not be, as they were asked for then: the watcher asks again later, and for others meanwhile."""
    if asked_at is not None:
        IntervalsDue.objects.filter(pk=run_id, asked_at=asked_at).update(asked_at=timezone.now() + _AGAIN)


def ask_again_if_due(run_id: UUID) -> None:
    """Have the run judged once more where somebody has changed its intervals meanwhile."""
    if is_due(run_id) is not None:
        start(TASK, str(run_id))


def withdraw_others(run: Run, kind: str, asked: set[tuple[str, str]]) -> Changed:
    """Take back what was found of definitions that are not `asked` (name and Interval.identity, as findings keep).

    Of a run that has ended people are not told what was over anyway.
    """
    quiet = run.ended_at is not None
    rows = Finding.objects.filter(run=run, kind=kind).exclude(workers=[])
    stale = [row for row in rows if (row.phase, row.evidence.get("interval")) not in asked]
    return [changed for row in stale if (changed := findings.withdraw_one(row, _CHANGED, quiet=quiet))]


def _judge(row: Interval, seen: Run) -> None:
    # Of many changes the first starts the task: until that has judged it finds the others, locked out while we look.
    started = IntervalsDue.objects.select_for_update().filter(pk=seen.pk, asked_at__lte=Now()).exists()
    with connection.cursor() as cursor:
        cursor.execute(_DUE, [row.team_id, row.project, row.run_id, row.run_id])
    if not started:
        transaction.on_commit(lambda: start(TASK, str(seen.pk)), robust=True)
