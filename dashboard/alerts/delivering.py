"""Delivers messages, each at least once: claimed, tried with one key, again for a day, and each try noted."""

import datetime as dt
import logging

from django.db import transaction
from django.db.models import Exists, F, Min, OuterRef, Q
from django.db.models.functions import Greatest
from django.utils import timezone

from dashboard.alerts import channels, message
from dashboard.alerts.channels.letter import Letter, Undelivered
from dashboard.alerts.models import Channel, Delivery, DeliveryState, Try
from dashboard.alerts.told import Told
from ingest.models import Outbox

_log = logging.getLogger(__name__)
# Longer than a try may take, so that nobody else tries it meanwhile.
CLAIM = dt.timedelta(seconds=20)
# What is due and cannot be tried yet, because its channel is busy or an earlier message waits, is looked at again then.
LOOK_AGAIN = dt.timedelta(seconds=5)
PAUSES_S = (5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600)
GIVE_UP_AFTER = dt.timedelta(days=1)


def deliver_next() -> bool:
    """Try the oldest message that is due and that nobody tries now; returns whether there was one."""
    claimed = _claim(timezone.now())
    if claimed is None:
        return False
    # Never in one transaction with a message's own row: a run that is being deleted takes them in the other order.
    next_due(claimed[0].outbox_id)
    _try(*claimed)
    next_due(claimed[0].outbox_id)
    return True


def settle() -> None:
    """Say of all that is due and was not tried when it is due again, so that nobody is asked in vain meanwhile."""
    now = timezone.now()
    taken = Outbox.objects.filter(due_at__lte=now).exclude(due_at=F("made_at"))
    for outbox_id in taken.values_list("pk", flat=True)[:500]:
        next_due(outbox_id, now + LOOK_AGAIN)


def send_test(channel: Channel) -> Try:
    """Send a test at once, once, by the way that alerts take; returns the try with what came of it."""
    now = timezone.now()
    delivery = Delivery.objects.create(
        channel=channel, happened=Told.TEST, content=message.test_content(channel), made_at=now,
        claimed_until=now + CLAIM,
    )  # fmt: skip
    return _try(delivery, Try.objects.create(delivery=delivery, begun_at=now))


@transaction.atomic
def _claim(now: dt.datetime) -> tuple[Delivery, Try] | None:
    """One message at a time for each channel, so that a dead one holds up no more than one worker; in order."""
    waiting = Delivery.objects.filter(state=DeliveryState.WAITING)
    same = waiting.filter(channel=OuterRef("channel"))
    delivery = (
        waiting.filter(next_try_at__lte=now)
        # Of the row itself as well: another's claim that comes between our look and our lock is seen of it alone.
        .filter(Q(claimed_until=None) | Q(claimed_until__lte=now))
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
    return delivery, Try.objects.create(delivery=delivery, begun_at=now)


def _try(delivery: Delivery, attempt: Try) -> Try:
    letter, for_good = Letter(delivery.key, delivery.content), False
    try:
        attempt.answer = _sent(delivery, letter)
        attempt.delivered = True
    except Undelivered as why:
        attempt.answer, for_good = str(why), why.for_good
    except Exception as error:  # noqa: BLE001 - whatever a channel does, the message stays and is tried again
        _log.exception("channel %s", delivery.channel_id)
        attempt.answer = f"The server failed: {type(error).__name__}."
    _note(delivery, attempt, for_good=for_good)
    return attempt


def _sent(delivery: Delivery, letter: Letter) -> str:
    channel = delivery.channel
    if not channel.enabled and delivery.happened != Told.TEST:
        raise Undelivered("The channel is off.")
    return channels.send(channel.way, channel.settings["to"], channel.secret, letter)


@transaction.atomic
def _note(delivery: Delivery, attempt: Try, *, for_good: bool) -> None:
    attempt.ended_at = timezone.now()
    attempt.answer = attempt.answer.replace("\0", "")[:1000]
    # A run or a channel may have been deleted meanwhile, and all of this with it.
    said = {"ended_at": attempt.ended_at, "answer": attempt.answer, "delivered": attempt.delivered}
    Try.objects.filter(pk=attempt.pk).update(**said)
    delivery.next_try_at = None if attempt.delivered or for_good else _next_try(delivery, attempt.ended_at)
    if attempt.delivered:
        delivery.state = DeliveryState.DELIVERED
    elif delivery.next_try_at is None:
        delivery.state = DeliveryState.FAILED
    Delivery.objects.filter(pk=delivery.pk).update(
        claimed_until=None, next_try_at=delivery.next_try_at, state=delivery.state
    )


def _next_try(delivery: Delivery, now: dt.datetime) -> dt.datetime | None:
    if delivery.happened == Told.TEST or now - delivery.made_at > GIVE_UP_AFTER:
        return None
    tried = delivery.tries.count()
    return now + dt.timedelta(seconds=PAUSES_S[min(tried, len(PAUSES_S)) - 1])


@transaction.atomic
def next_due(outbox_id: int | None, least: dt.datetime | None = None) -> None:
    """Have an event be due when the first of its messages is, held ones too, and not before `least`.

    The last to end among the deliveries of an event sees the others' ends, since it waits for its row.
    """
    row = Outbox.objects.select_for_update(no_key=True).filter(pk=outbox_id or 0).first()
    if row is None:
        return
    waiting = Delivery.objects.filter(outbox=row, state__in=[DeliveryState.WAITING, DeliveryState.HELD])
    due = waiting.aggregate(due=Min(Greatest("next_try_at", "claimed_until")))["due"]
    row.due_at = max(due, least) if due and least else due
    row.save(update_fields=["due_at"])
