"""The list of a team's runs."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from dashboard.runs import columns, pictures, saved_views, stars, words
from dashboard.runs.chips import address, chips
from dashboard.runs.filters import RunFilter
from dashboard.teams.access import choice_of, key_of, may_change
from dashboard.teams.models import Team
from dashboard.teams.sign_in import signed_in
from ingest.queries import run_choices, run_orders
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
    starred: bool


@dataclass(frozen=True, slots=True)
class Head:
    """A column's heading; `href` is the list sorted by it, "" where it cannot be, `sorted` how it is sorted by it."""

    column: columns.Column
    href: str
    sorted: str


def filter_of(request: HttpRequest, team: Team) -> RunFilter:
    """What the request's URL asks of the team's runs."""
    return RunFilter(
        request.GET, team_id=team.pk, user_id=key_of(request.user),
        projects=run_choices.projects_of(team.pk), known=run_choices.labels_of(team.pk),
    )  # fmt: skip


def asked_of(request: HttpRequest, filters: RunFilter) -> dict[str, str]:
    """What the list's address says and makes sense: filters and order, not the place in it."""
    sort = request.GET.get("sort", "")
    known = sort.removeprefix("-") in run_orders.SORTED_BY
    return filters.chosen() | ({"sort": sort} if known else {})


@require_safe
@signed_in
def run_list(request: HttpRequest) -> HttpResponse:
    """Show a page of the list; asked by the page itself, only its changing part, or 204 when nothing has changed."""
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    filters = filter_of(request, team)
    asked, after = asked_of(request, filters), request.GET.get("after", "")
    url = address(asked | {"after": after})
    shown, may_edit = columns.chosen_by(request.user), may_change(request.user, team)
    part, totals = _table(request, filters, asked, shown, may_edit=may_edit), queries.totals(team.pk)
    version = sha256(f"{part}{totals}".encode()).hexdigest()[:16]
    context = {"team": team, "totals": totals, "part": part, "version": version, "url": url, "may_edit": may_edit}
    if request.htmx and request.GET.get("seen") == version:  # type: ignore[attr-defined]
        return HttpResponse(status=204)
    context |= {"filters": filters, "chips": chips(filters, asked), "asked": asked}
    if not request.htmx:  # type: ignore[attr-defined]
        every = [(column, column.key in shown) for column in columns.COLUMNS]
        context |= {"views": saved_views.listed(request.user, team, asked), "every_column": every}
        return render(request, "runs/list.html", context)
    of_form = request.htmx.trigger == "filters"  # type: ignore[attr-defined]
    response = render(request, "runs/live_part.html", context | {"oob": True, "of_form": of_form})
    return push_url(response, url) if of_form else response


def _table(request: HttpRequest, filters: RunFilter, asked: dict[str, str], shown: list[str], *, may_edit: bool) -> str:
    after, sort = request.GET.get("after", ""), asked.get("sort", "")
    try:
        page = queries.page(filters.qs, filters.team_id, sort=sort, after=after, narrowed=filters.narrowed)
    except ValueError:
        raise Http404("no such page") from None
    starred = stars.of(request.user, [row.run.pk for row in page.rows])
    context: dict[str, Any] = {
        "filtered": bool(filters.chosen()),
        "kinds": KINDS,
        "lines": [_line(row, starred=row.run.pk in starred) for row in page.rows],
        "next": address(asked | {"after": page.after}) if page.after else None,
        "first": address(asked) if after else None,
        "here": address(asked | {"after": after}),
        "name": _head(columns.NAME, asked),
        "heads": [_head(column, asked) for column in columns.COLUMNS if column.key in shown],
        "shown": dict.fromkeys(shown, True),
        "order": _order(sort),
        "may_edit": may_edit,
    }
    return render_to_string("runs/table.html", context)


def _line(row: queries.RunRow, *, starred: bool) -> Line:
    return Line(
        row,
        curve=pictures.curve(row.rounds, row.flagged),
        bar=pictures.bar(row.kind_shares),
        finding=words.findings(row),
        waits_much=(row.waiting_share or 0) >= queries.MUCH_WAITING,
        href=reverse("live:run", args=[row.run.pk]),
        starred=starred,
    )


def _head(column: columns.Column, asked: dict[str, str]) -> Head:
    if not column.sort:
        return Head(column, "", "")
    now = asked.get("sort", "")
    up, down = column.sort, f"-{column.sort}"
    first, second = (up, down) if column.ascending else (down, up)
    # The third time it is no longer sorted by.
    then = {first: second, second: ""}.get(now, first)
    return Head(column, address(asked | {"sort": then}), {up: "ascending", down: "descending"}.get(now, ""))


def _order(sort: str) -> str:
    labels = {column.sort: column.label for column in (columns.NAME, *columns.COLUMNS) if column.sort}
    label = labels.get(sort.removeprefix("-"), "")
    if not label:
        return "those that go on first, then the newest"
    return f"by {label}, {'from the greatest' if sort.startswith('-') else 'from the least'}"
