"""The list of a team's runs."""

from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from dashboard.runs import pictures
from dashboard.runs.filters import RunFilter
from dashboard.teams.access import choice_of
from dashboard.teams.models import Team
from dashboard.teams.sign_in import signed_in
from ingest.queries import run_list as queries


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the list with its pictures; `href` is the run's live page, whose room this one may not know."""

    row: queries.RunRow
    curve: pictures.Curve | None
    bar: pictures.Bar | None
    href: str


@require_safe
@signed_in
def run_list(request: HttpRequest) -> HttpResponse:
    """Show a page of the list; asked by the page itself, only its changing part, or 204 when nothing has changed."""
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    filters = RunFilter(request.GET, queryset=queries.runs_of(team.pk), projects=queries.projects_of(team.pk))
    url = _url(filters, request.GET.get("after", ""))
    part = _part(request, team, filters, url)
    version = sha256(part.encode()).hexdigest()[:16]
    if request.htmx:  # type: ignore[attr-defined]
        if request.GET.get("seen") == version:
            return HttpResponse(status=204)
        response = render(request, "runs/live_part.html", {"part": part, "version": version, "url": url})
        return push_url(response, url) if request.htmx.trigger == "filters" else response  # type: ignore[attr-defined]
    context = {"section": "runs", "team": team, "filters": filters, "part": part, "version": version, "url": url}
    return render(request, "runs/list.html", context)


def _part(request: HttpRequest, team: Team, filters: RunFilter, url: str) -> str:
    try:
        page = queries.page(filters.qs, after=request.GET.get("after", ""))
    except ValueError:
        raise Http404("no such page") from None
    context = {
        "team": team,
        "totals": queries.totals(team.pk),
        "filtered": bool(filters.chosen()),
        "lines": [_line(row) for row in page.rows],
        "older": _url(filters, page.after) if page.after else None,
        "newest": _url(filters) if "after=" in url else None,
        "server_url": settings.PUBLIC_URL,
    }
    return render_to_string("runs/table.html", context)


def _line(row: queries.RunRow) -> Line:
    return Line(row, pictures.curve(row.rounds, row.flagged), pictures.bar(row.kind_shares), f"/runs/{row.run.pk}/")


def _url(filters: RunFilter, after: str = "") -> str:
    chosen = filters.chosen() | ({"after": after} if after else {})
    return reverse("runs") + (f"?{urlencode(chosen)}" if chosen else "")
