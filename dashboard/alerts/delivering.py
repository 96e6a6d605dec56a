"""Delivers messages, each at least once: claimed, tried with one key, again for a day, and each try noted."""

import datetime as dt
import logging

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q
from django.utils import timezone

from dashboard.alerts import channels, message
from dashboard.alerts.channels.letter import Letter, Undelivered
from dashboard.alerts.models import Channel, Delivery, DeliveryState, Try
from ingest.models import Outbox

_log = logging.getLogger(__name__)
# Longer than a try may take, so that nobody else tries it meanwhile.
CLAIM = dt.timedelta(seconds=20)
PAUSES_S = (5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)
GIVE_UP_AFTER = dt.timedelta(days=1)


def deliver_next() -> bool:
    """Try the oldest message that is due and that nobody tries now; returns whether there was one."""
    claimed = _claim(timezone.now())
    if claimed is None:
        return False
    _try(*claimed)
    return True


def send_test(channel: Channel) -> Try:
    """Send a test at once, once, by the way that alerts take; returns the try with what came of it."""
    now = timezone.now()
    delivery = Delivery.objects.create(
        channel=channel, happened="test", content=message.test_content(channel), made_at=now, claimed_until=now + CLAIM
    )
    return _try(delivery, Try.objects.create(delivery=delivery, begun_at=now))


@transaction.atomic
def _claim(now: dt.datetime) -> tuple[Delivery, Try] | None:
    """One message at a time for each channel, so that a dead one holds up no more than one worker; in order."""
    waiting = Delivery.objects.filter(state=DeliveryState.WAITING)
    same = waiting.filter(channel=OuterRef("channel"))
    delivery = (
        waiting.filter(Q(claimed_until=None) | Q(claimed_until__lte=now), next_try_at__lte=now)
        .exclude(Exists(same.filter(claimed_until__gt=now)))
        .exclude(Exists(same.filter(alert=OuterRef("alert"), pk__lt=OuterRef("pk"))))
        .select_for_update(skip_locked=True, of=("self",))
        .select_related("channel")
        .order_by("next_try_at", "pk")
        .first()
    )
    if delivery is None:
        return None
    delivery.claimed_until = now + CLAIM
    delivery.save(update_fields=["claimed_until"])
    if delivery.outbox_id is not None:
        Outbox.objects.filter(pk=delivery.outbox_id).update(due_at=delivery.claimed_until)
    return delivery, Try.objects.create(delivery=delivery, begun_at=now)


def _try(delivery: Delivery, attempt: Try) -> Try:
    channel = delivery.channel
    letter = Letter(delivery.key, delivery.content)
    try:
        attempt.answer = channels.send(channel.way, channel.settings["to"], channel.secret, letter)
        attempt.delivered = True
    except Undelivered as why:
        attempt.answer = str(why)
    except Exception as error:  # noqa: BLE001 - whatever a channel does, the message stays and is tried again
        _log.exception("channel %s", channel.pk)
        attempt.answer = f"The server failed: {type(error).__name__}."
    _note(delivery, attempt)
    return attempt


@transaction.atomic
def _note(delivery: Delivery, attempt: Try) -> None:
    attempt.ended_at = timezone.now()
    attempt.answer = attempt.answer.replace("\0", "")[:1000]
    attempt.save()
    delivery.claimed_until = None
    delivery.next_try_at = None if attempt.delivered else _next_try(delivery, attempt.ended_at)
    if attempt.delivered:
        delivery.state = DeliveryState.DELIVERED
    elif delivery.next_try_at is None:
        delivery.state = DeliveryState.FAILED
    delivery.save(update_fields=["claimed_until", "next_try_at", "state"])
    _next_due(delivery.outbox_id)


def _next_try(delivery: Delivery, now: dt.datetime) -> dt.datetime | None:
    if delivery.happened == "test" or now - delivery.made_at > GIVE_UP_AFTER:
        return None
    tried = delivery.tries.count()
    return now + dt.timedelta(seconds=PAUSES_S[min(tried, len(PAUSES_S)) - 1])


def _next_due(outbox_id: int | None) -> None:
    """The last to end among the deliveries of an event sees the others' ends, since it waits for its row."""
    if outbox_id is None:
        return
    row = Outbox.objects.select_for_update().get(pk=outbox_id)
    waiting = Delivery.objects.filter(outbox=row, state=DeliveryState.WAITING)
    row.due_at = waiting.aggregate(due=Min("next_try_at"))["due"]
    row.save(update_fields=["due_at"])
