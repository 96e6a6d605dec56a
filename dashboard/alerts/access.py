"""A team's alerts, rules and channels, fetched through the teams of the one who asks."""

from typing import TypeVar
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from dashboard.alerts.models import Alert, Channel, Rule
from dashboard.teams.access import may_change, teams_of
from dashboard.teams.models import Team

Thing = TypeVar("Thing", bound=Model)


def alert_for(request: HttpRequest, alert_id: UUID) -> Alert:
    """An alert of one of the person's teams, with what it is of; raises Http404 for any other."""
    return get_object_or_404(_theirs(request, Alert.objects.select_related("team", "run", "finding")), pk=alert_id)


def rule_for(request: HttpRequest, rule_id: int) -> Rule:
    """The same for a rule."""
    return get_object_or_404(_theirs(request, Rule.objects.select_related("team")), pk=rule_id)


def channel_for(request: HttpRequest, channel_id: int) -> Channel:
    """The same for a channel."""
    return get_object_or_404(_theirs(request, Channel.objects.select_related("team")), pk=channel_id)


def must_change(request: HttpRequest, team: Team) -> None:
    """Raise PermissionDenied for somebody who may only look."""
    if not may_change(request.user, team):
        raise PermissionDenied


def _theirs(request: HttpRequest, rows: QuerySet[Thing]) -> QuerySet[Thing]:
    return rows.filter(team__in=teams_of(request.user).order_by())
