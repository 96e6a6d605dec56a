"""The list of a team's runs."""

from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from dashboard.runs import pictures, words
from dashboard.runs.filters import RunFilter
from dashboard.teams.access import choice_of
from dashboard.teams.sign_in import signed_in
from ingest.queries import run_list as queries
from roundwatch.wire import KINDS


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the list with its pictures; `href` is the run's live page."""

    row: queries.RunRow
    curve: pictures.Curve | None
    bar: pictures.Bar | None
    finding: str
    waits_much: bool
    href: str


@require_safe
@signed_in
def run_list(request: HttpRequest) -> HttpResponse:
    """Show a page of the list; asked by the page itself, only its changing part, or 204 when nothing has changed."""
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    filters = RunFilter(request.GET, queryset=queries.runs_of(team.pk), projects=queries.projects_of(team.pk))
    after = request.GET.get("after", "")
    url = _url(filters, after)
    part, totals = _table(filters, after), queries.totals(team.pk)
    version = sha256(f"{part}{totals}".encode()).hexdigest()[:16]
    context = {"team": team, "totals": totals, "part": part, "version": version, "url": url}
    if not request.htmx:  # type: ignore[attr-defined]
        return render(request, "runs/list.html", context | {"filters": filters})
    if request.GET.get("seen") == version:
        return HttpResponse(status=204)
    response = render(request, "runs/live_part.html", context | {"oob": True})
    return push_url(response, url) if request.htmx.trigger == "filters" else response  # type: ignore[attr-defined]


def _table(filters: RunFilter, after: str) -> str:
    try:
        page = queries.page(filters.qs, after=after)
    except ValueError:
        raise Http404("no such page") from None
    context = {
        "filtered": bool(filters.chosen()),
        "kinds": KINDS,
        "lines": [_line(row) for row in page.rows],
        "older": _url(filters, page.after) if page.after else None,
        "newest": _url(filters) if after else None,
    }
    return render_to_string("runs/table.html", context)


def _line(row: queries.RunRow) -> Line:
    return Line(
        row,
        curve=pictures.curve(row.rounds, row.flagged),
        bar=pictures.bar(row.kind_shares),
        finding=words.findings(row),
        waits_much=(row.waiting_share or 0) >= queries.MUCH_WAITING,
        href=reverse("live:run", args=[row.run.pk]),
    )


def _url(filters: RunFilter, after: str = "") -> str:
    chosen = filters.chosen() | ({"after": after} if after else {})
    return reverse("runs") + (f"?{urlencode(chosen)}" if chosen else "")
