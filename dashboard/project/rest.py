"""REST under /api/v1/ in full: what dashboard.runs answers, and alerts, whose room must not know that one."""

from typing import Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Field, Query, Router, Schema
from pydantic import ConfigDict

from dashboard.alerts import listing, message
from dashboard.alerts.acts import Act, act, done
from dashboard.alerts.models import Alert
from dashboard.runs.api import api
from dashboard.runs.api.access import caller
from dashboard.runs.api.errors import Refusal
from dashboard.runs.api.paging import Period, Text, answered, moment_and_id
from dashboard.runs.api.shapes import Listed, Time, moment
from dashboard.teams.audit import audit
from dashboard.teams.models import Area, User

__all__ = ["api"]

router = Router(tags=["alerts"])


class AlertShape(Schema):
    """A finding told to people: one for each run, kind and phase, however often it opens."""

    id: str
    run: str
    finding: str = Field(description="The newest finding of the incident.")
    kind: str
    phase: str
    severity: str
    state: str = Field(description="open, acknowledged, silenced or resolved.")
    page: bool = Field(description="Whether a rule wants somebody woken.")
    times: int = Field(description="How often it opened.")
    observed: str
    hypothesis: str
    workers: list[str]
    rounds: list[int]
    cost: dict[str, float] | None = Field(description="seconds of a round, and gpu_seconds of peers that wait.")
    url: str
    opened_at: Time
    updated_at: Time
    resolved_at: Time | None
    silenced_until: Time | None
    changed_by: str | None


class WhichAlerts(Period):
    """Alerts that were opened within the time."""

    state: Literal["open", "acknowledged", "silenced", "resolved"] | None = Field(None, description="All if left out.")
    kind: Text | None = Field(None, description="As findings say it: straggler, for example.")
    project: Text | None = Field(None, description="The project's whole name.")


class AlertChange(Schema):
    """What to do with an alert."""

    model_config = ConfigDict(extra="forbid")
    do: Act


@router.get("/alerts", response=Listed[AlertShape])
def list_alerts(request: HttpRequest, which: Query[WhichAlerts]) -> dict[str, Any]:
    """The team's alerts, newest first."""
    wanted = listing.Wanted(state=which.state, kind=which.kind, project=which.project, begin=which.begin, end=which.end)
    team = caller(request).team
    return answered(listing.listed({team}, wanted, after=moment_and_id(which.cursor), limit=which.limit), _shape)


@router.get("/alerts/{uuid:alert_id}", response=AlertShape)
def get_alert(request: HttpRequest, alert_id: UUID) -> dict[str, Any]:
    """One alert."""
    return _shape(_alert_of(request, alert_id))


@router.patch("/alerts/{uuid:alert_id}", response=AlertShape)
def change_alert(request: HttpRequest, alert_id: UUID, change: AlertChange) -> dict[str, Any]:
    """Acknowledge an alert, silence it for eight hours, resolve it, or open it again."""
    found = _alert_of(request, alert_id)
    if found.team_id not in caller(request).changes:
        raise Refusal(403, "You may look at this alert, but not change it.")
    act(found, change.do, request.user if isinstance(request.user, User) else None)
    audit(request, found.team_id, Area.ALERT, done(change.do, found))
    return _shape(_alert_of(request, alert_id))


def _alert_of(request: HttpRequest, alert_id: UUID) -> Alert:
    found = listing.of_teams(caller(request).teams, listing.Wanted()).filter(pk=alert_id).first()
    if found is None:
        raise Http404
    return found


def _shape(row: Alert) -> dict[str, Any]:
    finding = row.finding
    return {
        "id": str(row.pk), "run": str(row.run_id), "finding": str(finding.pk), "kind": row.kind, "phase": row.phase,
        "severity": finding.severity, "state": row.state, "page": row.pages, "times": row.times,
        "observed": finding.observed, "hypothesis": finding.hypothesis, "workers": finding.workers,
        "rounds": finding.rounds, "cost": message.cost(finding), "url": message.link(finding),
        "opened_at": moment(row.opened_at), "updated_at": moment(row.updated_at),
        "resolved_at": row.resolved_at and moment(row.resolved_at),
        "silenced_until": row.silenced_until and moment(row.silenced_until),
        "changed_by": row.changed_by and str(row.changed_by),
    }  # fmt: skip


api.add_router("", router)
