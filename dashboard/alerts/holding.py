"""Messages that wait for their time: until quiet hours are over, or until nobody has acknowledged an alert.

Each row is changed by a statement of its own, and only while it is still held: a run that is being deleted takes
messages in another order, and several may let go at once.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from dashboard.alerts import delivering, message, quiet
from dashboard.alerts import rules as known
from dashboard.alerts.models import Alert, AlertState, Channel, Delivery, DeliveryState, Held, Rule
from dashboard.alerts.told import BEGINNINGS, Told
from ingest.models import Outbox

_MOST_AT_ONCE = 1000


def deliver(row: Outbox, alert: Alert, channels: Iterable[Channel], now: dt.datetime) -> None:
    """Have these channels told of what happened, now or once their quiet hours are over."""
    content = message.content(alert, row.finding, row.happened)
    for channel in channels:
        until = _quiet_until(channel, alert, now)
        Delivery.objects.create(
            channel=channel, alert=alert, outbox=row, happened=row.happened, content=content, made_at=now,
            next_try_at=until or now, state=DeliveryState.HELD if until else DeliveryState.WAITING,
            held=Held.QUIET if until else "",
        )  # fmt: skip


def escalate_later(row: Outbox, alert: Alert, rules: Iterable[Rule], told: Iterable[Channel], now: dt.datetime) -> bool:
    """Hold a message for those who are told where nobody acknowledges in time; returns whether there is any."""
    after: dict[Channel, int] = {}
    for rule in rules:
        if rule.escalate_after:
            for channel in rule.escalate_to.all():
                after[channel] = min(rule.escalate_after, after.get(channel, rule.escalate_after))
    already = {channel.pk for channel in told}
    later = {channel: minutes for channel, minutes in after.items() if channel.enabled and channel.pk not in already}
    for channel, minutes in later.items():
        Delivery.objects.create(
            channel=channel, alert=alert, outbox=row, happened=Told.ESCALATED, made_at=now, state=DeliveryState.HELD,
            held=Held.UNACKNOWLEDGED, next_try_at=now + dt.timedelta(minutes=minutes),
            content=message.content(alert, row.finding, Told.ESCALATED),
        )  # fmt: skip
    return bool(later)


def release() -> None:
    """Let go of what has waited for its time."""
    now = timezone.now()
    for row in _due(now).filter(held=Held.UNACKNOWLEDGED)[:_MOST_AT_ONCE]:
        _escalate(row, now)
    channels: dict[Channel, list[Delivery]] = {}
    for row in _due(now).filter(held=Held.QUIET)[:_MOST_AT_ONCE]:
        channels.setdefault(row.channel, []).append(row)
    for channel, rows in channels.items():
        _wake(channel, rows, now)


def let_go(channel: Channel) -> None:
    """Have looked at again what is held for a channel whose quiet hours have changed."""
    now = timezone.now()
    rows = Delivery.objects.filter(channel=channel, state=DeliveryState.HELD, held=Held.QUIET)
    until = quiet.until(channel, now) or now
    for outbox_id in {row.outbox_id for row in rows if _change(row, next_try_at=until)}:
        delivering.next_due(outbox_id)


def _quiet_until(channel: Channel, alert: Alert, now: dt.datetime) -> dt.datetime | None:
    """Until when a message is held; what follows one that is held waits with it: nothing ends before it began."""
    if alert.pages and channel.quiet_pages:
        return None
    before = Delivery.objects.filter(channel=channel, alert=alert, state=DeliveryState.HELD, held=Held.QUIET)
    known = before.order_by("pk").values_list("next_try_at", flat=True).first()
    return known or quiet.until(channel, now)


def _due(now: dt.datetime) -> QuerySet[Delivery]:
    rows = Delivery.objects.filter(state=DeliveryState.HELD, next_try_at__lte=now)
    return rows.select_related("channel__team", "alert__finding__run__team", "alert__run").order_by("pk")


def _escalate(row: Delivery, now: dt.datetime) -> None:
    """Tell, if the alert is still that which opened then, and nobody has looked after it."""
    alert = row.alert
    if alert is None or alert.state != AlertState.OPEN or alert.begun_at != row.made_at or not _stands(row):
        _change(row, state=DeliveryState.DROPPED, next_try_at=None)
        return
    until = None if row.channel.quiet_pages else quiet.until(row.channel, now)
    content = message.content(alert, alert.finding, Told.ESCALATED)
    if until:
        _change(row, content=content, held=Held.QUIET, next_try_at=until)
    else:
        _change(row, content=content, state=DeliveryState.WAITING, next_try_at=now)


def _wake(channel: Channel, rows: Sequence[Delivery], now: dt.datetime) -> None:
    """Tell one by one what goes on, and the end of what was told before; the rest is over and told in one message."""
    alerts: dict[Any, list[Delivery]] = {}
    for row in rows:
        alerts.setdefault(row.alert_id, []).append(row)
    over: list[Delivery] = []
    for of_alert in alerts.values():
        alert = of_alert[0].alert
        if alert is not None and alert.state != AlertState.RESOLVED:
            _tell_one(of_alert, _beginning(alert, of_alert, now), now)
        elif of_alert[0].happened in BEGINNINGS:
            begun = any(row.happened in BEGINNINGS and _stands(row) for row in of_alert)
            if begun:
                over += of_alert
            else:
                _tell_one(of_alert, None, now)
        else:
            _tell_one(of_alert, of_alert[-1], now)
    _sum_up(channel, over, now)


def _beginning(alert: Alert, rows: Sequence[Delivery], now: dt.datetime) -> Delivery | None:
    """What tells that an incident that is not over goes on: none where it is silenced, or was told before."""
    if alert.state == AlertState.SILENCED and (alert.silenced_until is None or alert.silenced_until > now):
        return None
    # Who is told where nobody looks after it is told nothing once somebody does.
    wanted = (Told.OPENED,) if alert.state == AlertState.ACKNOWLEDGED else BEGINNINGS
    return next((row for row in reversed(rows) if row.happened in wanted and _stands(row)), None)


def _stands(row: Delivery) -> bool:
    """Whether a rule still asks for it, if it is an escalation; what opened is told whatever rules say by now."""
    if row.happened != Told.ESCALATED or row.alert is None:
        return True
    return known.escalates(row.alert.finding, row.channel, row.content["severity"])


def _tell_one(rows: Sequence[Delivery], told: Delivery | None, now: dt.datetime) -> None:
    for row in rows:
        if row is told:
            _change(row, state=DeliveryState.WAITING, next_try_at=now)
        else:
            _change(row, state=DeliveryState.DROPPED, next_try_at=None)


def _sum_up(channel: Channel, over: Sequence[Delivery], now: dt.datetime) -> None:
    """The newest of them becomes the message that tells of all: killed in between, what is left is told once more."""
    if not over:
        return
    newest = max(over, key=lambda row: row.pk)
    content = message.summary(channel, [row.content for row in over])
    _change(newest, content=content, happened=Told.SUMMARY, state=DeliveryState.WAITING, next_try_at=now)
    for row in over:
        if row.pk != newest.pk:
            _change(row, state=DeliveryState.SUMMARISED, next_try_at=None)


def _change(row: Delivery, **fields: Any) -> bool:
    return bool(Delivery.objects.filter(pk=row.pk, state=DeliveryState.HELD).update(**fields))
