"""Puts what happened to findings into the outbox, for whoever tells people of it."""

import datetime as dt

from django.db import transaction
from django.utils import timezone

from ingest.feed.starting import start
from ingest.models import Finding, Outbox
from ingest.models.findings import FindingState
from ingest.models.outbox import Happened

TELL = "alerts.tell"  # the task that tells people
PRUNE = "alerts.prune"  # the task that deletes what was told long ago


def note_opened(row: Finding) -> None:
    """Note a finding that is new, be it open or already over; to be called in the transaction that made it."""
    note(row, Happened.OPENED)


def note_change(row: Finding, before: str, *, withdrawn: bool = False) -> None:
    """Note a change, if it is one that people are told of; `before` is the state that the finding had."""
    if withdrawn:
        note(row, Happened.WITHDRAWN)
    elif before != row.state:
        note(row, Happened.OPENED if row.state == FindingState.OPEN else Happened.RESOLVED)


def ask_if_due(now: dt.datetime) -> bool:
    """Ask for what is due, should the task that was asked for at once be lost; returns whether anything was."""
    return Outbox.objects.filter(due_at__lte=now).exists() and start(TELL)


def note(row: Finding, happened: Happened) -> None:
    """Have people told; to be called in the transaction in which it happens."""
    now = timezone.now()
    Outbox.objects.create(finding=row, happened=happened, made_at=now, due_at=now)
    transaction.on_commit(lambda: start(TELL), robust=True)
