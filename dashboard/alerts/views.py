"""The inbox, one alert, and everything that was sent."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.alerts import listing, message
from dashboard.alerts.access import alert_for, must_change
from dashboard.alerts.acts import ACTS, act, done
from dashboard.alerts.models import Alert, AlertState
from dashboard.alerts.told import Told
from dashboard.teams.access import choice_of, may_change
from dashboard.teams.audit import audit
from dashboard.teams.models import Area, Team, User
from dashboard.teams.sign_in import signed_in
from ingest.detection import finding_kinds
from ingest.queries import run_words

_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class Line:
    """An alert as the inbox shows it; `href` is the bar on its run's live page."""

    alert: Alert
    href: str
    what: str


@never_cache
@require_safe
@signed_in
def inbox(request: HttpRequest) -> HttpResponse:
    """Show a page of the inbox; asked by the page itself, only its changing part, or 204 when nothing has changed."""
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    chosen = {name: text for name in ("state", "kind", "project") if (text := _asked(request, name))}
    part = _table(request, team, chosen)
    version = sha256(part.encode()).hexdigest()[:16]
    context = {"team": team, "part": part, "version": version, "url": request.get_full_path(), "tab": "inbox"}
    if not request.htmx:  # type: ignore[attr-defined]
        return render(request, "alerts/inbox.html", context | _filters(team, chosen))
    if request.GET.get("seen") == version:
        return HttpResponse(status=204)
    return render(request, "alerts/part.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def alert(request: HttpRequest, alert_id: UUID) -> HttpResponse:
    """Show an alert; a POST says what to do with it and leads back to where it came from."""
    found = alert_for(request, alert_id)
    if request.method == "POST":
        must_change(request, found.team)
        what = request.POST.get("do", "")
        if what not in ACTS or not isinstance(request.user, User):
            return HttpResponse("There is no such thing to do with an alert.", status=400, content_type="text/plain")
        act(found, what, request.user)
        audit(request, found.team, Area.ALERT, done(what, found))
        back = (
            reverse("alerts:inbox") if request.POST.get("from") == "inbox" else reverse("alerts:alert", args=[found.pk])
        )
        return redirect(back + _filtered(request))
    context = {
        "line": _line(found),
        "told": (told := message.content(found, found.finding, Told.OPENED)),
        "words": (words := run_words.of_run(found.run_id)),
        "cost": message.cost_words(told["cost"], words),
        "deliveries": listing.deliveries(found.team_id).filter(alert=found),
        "allowed": may_change(request.user, found.team),
    }
    return render(request, "alerts/alert.html", context)


@require_safe
@signed_in
def deliveries(request: HttpRequest) -> HttpResponse:
    """Show every message with its tries, newest first."""
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    page = Paginator(listing.deliveries(team.pk), _PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "alerts/deliveries.html", {"team": team, "page": page, "tab": "deliveries"})


def _table(request: HttpRequest, team: Team, chosen: dict[str, str]) -> str:
    rows = listing.inbox(
        team.pk, listing.Wanted(state=chosen.get("state"), kind=chosen.get("kind"), project=chosen.get("project"))
    )
    page = Paginator(rows, _PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "lines": [_line(row) for row in page],
        "chosen": urlencode(chosen),
        "filtered": bool(chosen),
        "allowed": may_change(request.user, team),
        "undelivered": listing.undelivered(team.pk),
        "reachable": team.channels.filter(enabled=True).exists(),
    }
    return render_to_string("alerts/table.html", context, request)


def _filters(team: Team, chosen: dict[str, str]) -> dict[str, Any]:
    rows = Alert.objects.filter(team=team)
    return {
        "states": AlertState.values,
        "kinds": _named(rows.order_by("kind").values_list("kind", flat=True).distinct()),
        "projects": rows.order_by("run__project").values_list("run__project", flat=True).distinct(),
        "chosen": chosen,
    }


def _named(kinds: Iterable[str]) -> list[tuple[str, str]]:
    return sorted(((kind, finding_kinds.name(kind)) for kind in kinds), key=lambda each: each[1])


def _line(row: Alert) -> Line:
    return Line(row, message.link(row.finding), finding_kinds.name(row.kind, row.phase))


def _asked(request: HttpRequest, name: str) -> str:
    """A filter's text; no row can hold NUL, and Postgres must not be asked for it."""
    return request.GET.get(name, "").replace("\0", "\ufffd")[:128]


def _filtered(request: HttpRequest) -> str:
    chosen = {name: text for name in ("state", "kind", "project") if (text := _asked(request, name))}
    return f"?{urlencode(chosen)}" if chosen else ""
