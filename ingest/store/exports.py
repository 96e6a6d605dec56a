"""Exports as rows: asked for, made slice by slice by whoever holds them, kept for days, and gone with their run."""

import datetime as dt
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from ingest.feed.starting import start
from ingest.models import Export, Run
from ingest.models.exports import ExportState
from ingest.store.locks import Lock, hold

MAKE = "runs.make_export"  # the task that makes a slice
SWEEP = "runs.sweep_exports"  # the task that removes files whose time is over, or that nothing names
MOST_TRIES = 5  # slices that began one after the other and did not get on
MOST_WAITING = 10  # of a team
KEPT = dt.timedelta(days=3)
# Longer than Celery lets a task live, so that never two write into one file.
_HELD = dt.timedelta(seconds=20)
_GOING = (ExportState.WAITING, ExportState.RUNNING)


class TooManyError(Exception):
    """The team has as many exports on their way as it may."""


@transaction.atomic
def ask(run: Run, form: str, asked_by: int | None) -> Export:
    """The export of `run` in this format that is on its way, or a new one; raises TooManyError."""
    hold(Lock.EXPORTS, run.team_id)
    going = Export.objects.filter(team_id=run.team_id, state__in=_GOING)
    found = going.filter(run=run, format=form).first()
    if found is not None:
        return found
    if going.count() >= MOST_WAITING:
        raise TooManyError
    made = Export.objects.create(
        team_id=run.team_id, run=run, format=form, asked_by_id=asked_by, made_at=timezone.now()
    )
    transaction.on_commit(lambda: start(MAKE, str(made.pk)), robust=True)
    return made


def take(export_id: UUID) -> Export | None:
    """The export, held for one slice; None where nothing is to be done or somebody else is at it.

    One whose slices have begun five times without getting on has failed.
    """
    now = timezone.now()
    free = _free(now).filter(pk=export_id)
    spent = free.filter(tries__gte=MOST_TRIES)
    spent.filter(reason="").update(reason="Whoever was making it died, five times.")
    spent.update(state=ExportState.FAILED, done_at=now, expires_at=now + KEPT, held_until=None)
    taken = free.update(state=ExportState.RUNNING, tries=F("tries") + 1, held_until=now + _HELD)
    return Export.objects.select_related("run").filter(pk=export_id).first() if taken else None


def got_on(export: Export, *, cursor: dict[str, Any] | None, records: int, total: int, file_bytes: int) -> bool:
    """Keep how far a slice has come, and let go; None as the cursor says that the file is complete.

    Returns whether the export was still there and ours.
    """
    now = timezone.now()
    done = {"state": ExportState.DONE, "done_at": now, "expires_at": now + KEPT} if cursor is None else {}
    rows = Export.objects.filter(pk=export.pk, held_until=export.held_until, state=ExportState.RUNNING)
    return bool(
        rows.update(
            cursor=cursor, records=records, records_total=max(total, records), file_bytes=file_bytes, tries=0,
            held_until=None, reason="", **done,
        )
    )  # fmt: skip


def failed(export: Export, reason: str) -> None:
    """Let go of a slice that did not get on; after five tries the export has failed."""
    now = timezone.now()
    over = {"state": ExportState.FAILED, "done_at": now, "expires_at": now + KEPT} if export.tries >= MOST_TRIES else {}
    rows = Export.objects.filter(pk=export.pk, held_until=export.held_until, state=ExportState.RUNNING)
    rows.update(held_until=None, reason=reason[:256], **over)


def ask_again(now: dt.datetime) -> int:
    """Ask for exports that nobody is at: their task was lost, or its worker died; returns how many were asked for."""
    waiting = _free(now).order_by("made_at").values_list("pk", flat=True)[:MOST_WAITING]
    return sum(start(MAKE, str(key)) for key in waiting)


def forget_expired(now: dt.datetime) -> int:
    """Delete the rows of exports whose time is over; returns how many."""
    return Export.objects.filter(expires_at__lte=now).delete()[0]


def _free(now: dt.datetime) -> Any:
    return Export.objects.filter(Q(held_until=None) | Q(held_until__lte=now), state__in=_GOING)
