"""The audit, for owners: what was done in their team, newest first."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.teams import audit
from dashboard.teams.access import current_team, owns
from dashboard.teams.models import Area
from dashboard.teams.sign_in import signed_in

_PER_PAGE = 50


@never_cache
@require_safe
@signed_in
def audit_page(request: HttpRequest) -> HttpResponse:
    """Show records, of one area or with some words; `before` is the number of the last one of the page before."""
    team = current_team(request)
    if not owns(request.user, team):
        raise PermissionDenied
    area, words, before = (_asked(request, name) for name in ("area", "q", "before"))
    area = area if area in Area.values else ""
    rows = audit.of(team, area, words)
    if before.isascii() and before.isdigit() and len(before) < 19:
        rows = rows.filter(pk__lt=int(before))
    found = list(rows[: _PER_PAGE + 1])
    more = found[_PER_PAGE - 1].pk if len(found) > _PER_PAGE else None
    context = {
        "team": team, "owns": True, "tab": "audit", "records": found[:_PER_PAGE], "more": more,
        "areas": Area.values, "area": area, "words": words, "later": bool(before),
    }  # fmt: skip
    return render(request, "teams/audit.html", context)


def _asked(request: HttpRequest, name: str) -> str:
    """A filter's text; no row can hold NUL, and Postgres must not be asked for it."""
    return request.GET.get(name, "").replace("\0", "\ufffd").strip()[:128]
