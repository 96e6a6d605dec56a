"""Deletes messages with their tries, and rows of the outbox, once they are old: incidents themselves stay."""

import datetime as dt
import time

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dashboard.alerts.models import AlertState, Delivery, DeliveryState
from ingest.models import Outbox

KEPT = dt.timedelta(days=90)
_SLICE = 1000


def prune(within_s: float) -> bool:
    """Delete in slices for at most about `within_s` seconds; returns whether some are left.

    What is still to be sent stays, and what was sent of an incident that is not over: whoever heard that it opened is
    to hear of its end.
    """
    deadline = time.monotonic() + within_s
    before = timezone.now() - KEPT
    for rows in (_messages(before), _events(before)):
        while keys := list(rows.values_list("pk", flat=True)[:_SLICE]):
            rows.model.objects.filter(pk__in=keys).delete()
            if time.monotonic() > deadline:
                return True
    return False


def _messages(before: dt.datetime) -> QuerySet[Delivery]:
    rows = Delivery.objects.filter(made_at__lt=before).exclude(state__in=[DeliveryState.WAITING, DeliveryState.HELD])
    return rows.filter(Q(alert=None) | Q(alert__state=AlertState.RESOLVED)).order_by("made_at")


def _events(before: dt.datetime) -> QuerySet[Outbox]:
    told = Delivery.objects.filter(outbox=OuterRef("pk"))
    return Outbox.objects.filter(due_at=None, made_at__lt=before).exclude(Exists(told)).order_by("pk")
