"""The tab Rounds of a run: one line each, by number or by wall time, fifty at a time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.runs import moments, pictures
from dashboard.teams.access import run_for
from dashboard.teams.sign_in import signed_in
from ingest.models import Run
from ingest.queries import rounds_table as queries
from ingest.queries.pages import Place
from ingest.queries.rounds_table import Order
from ingest.queries.run_list import MUCH_WAITING
from roundwatch.wire import KINDS

_SORTS = {
    Order.NEWEST: "Newest first", Order.OLDEST: "Oldest first", Order.SLOWEST: "Slowest first",
    Order.FASTEST: "Fastest first",
}  # fmt: skip
_CURSOR = re.compile(r"(-?\d{1,18})\.(\d{1,10})")
PAGE = 50


@dataclass(frozen=True, slots=True)
class Line:
    """A round with its picture; `href` is the live page looking at it."""

    row: queries.RoundRow
    bar: pictures.Bar | None
    waits_much: bool
    href: str


@dataclass(frozen=True, slots=True)
class Sort:
    """A way to sort, its address, and whether the table is sorted so."""

    label: str
    href: str
    chosen: bool


@never_cache
@require_safe
@signed_in
def rounds(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show fifty rounds, `?sort=` newest, oldest, slowest or fastest, after the place `?after=`; 404 for no place."""
    run = run_for(request.user, run_id)
    wanted = request.GET.get("sort", "")
    order = Order(wanted) if wanted in set(Order) else Order.NEWEST
    after = request.GET.get("after", "")
    page = queries.table(run, order, after=_place(after), limit=PAGE)
    context = {
        "run": run, "tab": "rounds", "kinds": KINDS, "lines": [_line(run, row) for row in page.items],
        "sorts": [Sort(label, _url(run, each), each is order) for each, label in _SORTS.items()],
        "sort_label": _SORTS[order].lower(),
        "first": _url(run, order) if after else None, "next": page.next and _url(run, order, page.next),
    }  # fmt: skip
    return render(request, "runs/rounds.html", context)


def _line(run: Run, row: queries.RoundRow) -> Line:
    return Line(
        row, pictures.bar(_shares(row)), (row.waiting_share or 0) >= MUCH_WAITING,
        moments.link(run.pk, index=row.index, begin_ns=row.begin_ns, end_ns=row.end_ns),
    )  # fmt: skip


def _shares(row: queries.RoundRow) -> Sequence[float] | None:
    wall = row.wall_s
    return [seconds / wall for seconds in row.kind_seconds] if wall and row.kind_seconds else None


def _place(text: str) -> Place | None:
    if not text:
        return None
    found = _CURSOR.fullmatch(text)
    if found is None or int(found[2]) >= 1 << 31:
        raise Http404("no such page")
    return int(found[1]), int(found[2])


def _url(run: Run, order: Order, after: Place | None = None) -> str:
    query = {} if order is Order.NEWEST else {"sort": order.value}
    if after is not None:
        query["after"] = f"{after[0]}.{after[1]}"
    return reverse("run_rounds", args=[run.pk]) + (f"?{urlencode(query)}" if query else "")
