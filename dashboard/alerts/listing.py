"""A team's alerts and deliveries, as pages and scripts list them."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.utils import timezone

from dashboard.alerts.models import Alert, AlertState, Delivery, DeliveryState
from dashboard.alerts.told import Told
from ingest.queries.pages import Page, Place, page

MOST_NEWS = 20
# What wants somebody comes first.
_ORDER = (AlertState.OPEN, AlertState.ACKNOWLEDGED, AlertState.SILENCED, AlertState.RESOLVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which alerts; None asks nothing. Opened in [begin, end)."""

    state: str | None = None
    kind: str | None = None
    project: str | None = None
    begin: dt.datetime | None = None
    end: dt.datetime | None = None


def of_teams(teams: Collection[UUID], wanted: Wanted) -> QuerySet[Alert]:
    """The alerts of these teams, in no order."""
    wake_silenced(teams)
    rows = Alert.objects.filter(team__in=teams).select_related("run", "finding", "changed_by")
    for name, value in (
        ("state", wanted.state), ("kind", wanted.kind), ("run__project", wanted.project),
        ("opened_at__gte", wanted.begin), ("opened_at__lt", wanted.end),
    ):  # fmt: skip
        if value is not None:
            rows = rows.filter(**{name: value})
    return rows


def inbox(team: UUID, wanted: Wanted) -> QuerySet[Alert]:
    """A team's alerts, those that want somebody first, then newest first."""
    rank = Case(
        *(When(state=state, then=Value(place)) for place, state in enumerate(_ORDER)), output_field=IntegerField()
    )
    return of_teams({team}, wanted).order_by(rank, "-opened_at", "pk")


def listed(teams: Collection[UUID], wanted: Wanted, *, after: Place | None, limit: int) -> Page[Alert]:
    """A page of the alerts of these teams, newest first."""
    rows = of_teams(teams, wanted)
    if after is not None:
        opened_at, key = after
        rows = rows.filter(Q(opened_at__lt=opened_at) | Q(opened_at=opened_at, pk__gt=key))
    found = list(rows.order_by("-opened_at", "pk")[: limit + 1])
    return page(found, limit, lambda row: row, lambda row: (row.opened_at, row.pk))


def opened_since(team: str, since: dt.datetime) -> list[Alert]:
    """The newest alerts of a team (by its slug) that are open and were to be told since then, oldest first."""
    rows = Alert.objects.filter(team__slug=team, state=AlertState.OPEN, told_at__gt=since)
    rows = rows.select_related("finding__run").order_by("-told_at")
    return list(rows[:MOST_NEWS])[::-1]


def deliveries(team: UUID) -> QuerySet[Delivery]:
    """Everything that was or is to be sent for a team, newest first, with its tries."""
    rows = Delivery.objects.filter(channel__team=team).select_related("channel", "alert__run")
    return rows.prefetch_related("tries").order_by("-pk")


def undelivered(team: UUID) -> int:
    """How many messages of the last day were given up or wait for another try."""
    since = timezone.now() - dt.timedelta(days=1)
    rows = Delivery.objects.filter(channel__team=team, made_at__gte=since).exclude(happened=Told.TEST)
    failing = Q(state=DeliveryState.FAILED) | Q(state=DeliveryState.WAITING, tries__ended_at__isnull=False)
    return rows.filter(failing).distinct().count()


def wake_silenced(teams: Collection[UUID]) -> None:
    """Open again what was silenced until now."""
    over = Alert.objects.filter(team__in=teams, state=AlertState.SILENCED, silenced_until__lte=timezone.now())
    over.update(state=AlertState.OPEN)
