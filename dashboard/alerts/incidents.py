"""From the outbox to alerts and deliveries: what happened to findings becomes one incident for run, kind and phase."""

import datetime as dt

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from dashboard.alerts import holding, rules
from dashboard.alerts.models import Alert, AlertState, Channel, Delivery, DeliveryState, Held, Rule
from dashboard.alerts.told import BEGINNINGS
from ingest.models import Finding, Outbox
from ingest.models.findings import FindingState
from ingest.models.outbox import Happened

# An incident of single rounds, each over when it is found, is told again only after so long.
_QUIET_FOR = dt.timedelta(minutes=10)


@transaction.atomic
def take_next() -> bool:
    """Turn the oldest row of the outbox that nobody works on into deliveries; returns whether there was one."""
    row = (
        _untaken()
        .exclude(Exists(_untaken().filter(finding=OuterRef("finding"), pk__lt=OuterRef("pk"))))
        # With its finding, so that a run that is being deleted is never waited for in the other order.
        .select_for_update(skip_locked=True, of=("self", "finding"), no_key=True)
        .select_related("finding__run__team")
        .order_by("pk")
        .first()
    )
    if row is None:
        return False
    now = timezone.now()
    alert, channels, wanting = _told(row, now)
    later = False
    if alert is not None:
        holding.deliver(row, alert, channels, now)
        later = holding.escalate_later(row, alert, wanting, channels, now)
    row.due_at = now if channels or later else None
    row.save(update_fields=["due_at"])
    return True


def _untaken() -> QuerySet[Outbox]:
    """Those that are due when they were made. That nothing came of one is no sign: it may be gone with its channel."""
    known = Delivery.objects.filter(outbox=OuterRef("pk"))
    return Outbox.objects.filter(due_at__isnull=False, due_at=F("made_at")).exclude(Exists(known))


def _told(row: Outbox, now: dt.datetime) -> tuple[Alert | None, list[Channel], list[Rule]]:
    """The incident, who is told at once, and the rules that may want it told to others later."""
    finding = row.finding
    alert = _incident(finding).select_for_update().first()
    if row.happened == Happened.OPENED:
        wanting = rules.matching(finding)
        if not wanting:
            return None, [], []
        alert, tell = _opened(alert, finding, now, pages=any(rule.pages for rule in wanting))
        if not tell:
            return alert, [], []
        begun = alert.state == AlertState.OPEN and alert.begun_at == now
        return alert, rules.channels(finding.run.team, wanting), wanting if begun else []
    if alert is None or (alert.state != AlertState.RESOLVED and _others_open(finding)):
        return None, [], []
    return alert, _over(alert, finding, now), []


def _incident(finding: Finding) -> QuerySet[Alert]:
    return Alert.objects.filter(run=finding.run_id, kind=finding.kind, phase=finding.phase)


def _opened(alert: Alert | None, finding: Finding, now: dt.datetime, *, pages: bool) -> tuple[Alert, bool]:
    """The incident with this finding in it, and whether people are told."""
    going_on = finding.state == FindingState.OPEN
    if alert is None:
        alert = Alert(team=finding.run.team, run=finding.run, kind=finding.kind, phase=finding.phase, times=0)
        alert.state = AlertState.RESOLVED
    silenced = alert.silenced_until is not None and alert.silenced_until > now
    new = alert.state == AlertState.RESOLVED or (alert.state == AlertState.SILENCED and not silenced)
    quiet = alert.told_at is not None and now - alert.told_at < _QUIET_FOR
    tell = not silenced and (new if going_on else not quiet)
    if new:
        alert.opened_at, alert.resolved_at = finding.opened_at, finding.resolved_at
        if going_on:
            alert.state, alert.begun_at = AlertState.SILENCED if silenced else AlertState.OPEN, now
    alert.finding, alert.pages, alert.updated_at = finding, alert.pages or pages, now
    alert.times += 1
    alert.told_at = now if tell else alert.told_at
    alert.save()
    return alert, tell


def _others_open(finding: Finding) -> bool:
    same = Finding.objects.filter(run=finding.run_id, kind=finding.kind, phase=finding.phase, state=FindingState.OPEN)
    return same.exists()


def _over(alert: Alert, finding: Finding, now: dt.datetime) -> list[Channel]:
    """Close the incident; returns the channels that heard of it last when it opened."""
    if alert.state != AlertState.RESOLVED:
        alert.state, alert.resolved_at = AlertState.RESOLVED, finding.resolved_at or now
    alert.updated_at = now
    alert.save(update_fields=["state", "resolved_at", "updated_at"])
    heard = Delivery.objects.filter(alert=alert, channel=OuterRef("pk")).exclude(state=DeliveryState.DROPPED)
    heard = heard.exclude(state=DeliveryState.HELD, held=Held.UNACKNOWLEDGED)
    newest = heard.order_by("-pk")
    told = Channel.objects.filter(enabled=True).annotate(
        last=newest.values("happened")[:1], state=newest.values("state")[:1]
    )
    # A message that was told among others was told as over.
    return list(told.filter(last__in=BEGINNINGS).exclude(state=DeliveryState.SUMMARISED).order_by("pk"))
