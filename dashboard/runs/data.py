"""What uses a team's disk, what is being deleted, and how long what is kept."""

import datetime as dt
from hashlib import sha256
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.runs.retention_form import RetentionForm
from dashboard.teams.access import current_team, owns
from dashboard.teams.audit import audit
from dashboard.teams.meant import elsewhere
from dashboard.teams.models import Area, Team
from dashboard.teams.sign_in import signed_in
from ingest.queries import disk
from ingest.store.retention import DAYS, PHASE_DAYS, SAMPLE_DAYS

_RUNS = 20
_DELETIONS = 10


@never_cache
@require_safe
@signed_in
def usage(request: HttpRequest) -> HttpResponse:
    """Show what uses the disk; asked by the page itself, only how far deletions have come."""
    team = current_team(request)
    rows = disk.deletions(team.pk, _DELETIONS)
    part = render_to_string("runs/deletions.html", {"deletions": [_progress(row) for row in rows]})
    is_going = any(row.done_at is None for row in rows)
    context: dict[str, Any] = {
        "team": team, "part": part, "version": sha256(part.encode()).hexdigest()[:16], "is_going": is_going,
        "url": request.path,
    }  # fmt: skip
    if request.htmx:  # type: ignore[attr-defined]
        if request.GET.get("seen") == context["version"]:
            return HttpResponse(status=204)
        return render(request, "runs/deletions_part.html", context)
    return render(request, "runs/data.html", context | _used(team))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def retention(request: HttpRequest) -> HttpResponse:
    """Show how long what is kept; a POST of an owner changes it, asking once more where that takes something away."""
    team = current_team(request)
    allowed = owns(request.user, team)
    form, lost = RetentionForm(instance=team), []
    if request.method == "POST":
        if (away := elsewhere(request, team)) is not None:
            return away
        if not allowed:
            raise PermissionDenied
        form = RetentionForm(request.POST, instance=team)
        if form.is_valid():
            lost = form.lost(timezone.now().date())
            if not lost or form.is_confirmed():
                form.store()
                if form.changed():
                    audit(request, team, Area.DATA, f"changed how long is kept: {form.told()}")
                said = "Nothing was changed." if not form.changed() else "Saved. What is too old goes within the hour."
                messages.success(request, said)
                return redirect("retention")
    context = {"team": Team.objects.get(pk=team.pk), "form": form, "allowed": allowed, "lost": lost}
    return render(request, "runs/retention.html", context | {"most": DAYS})


def _used(team: Team) -> dict[str, Any]:
    today = timezone.now().date()
    since = today - dt.timedelta(days=min(team.phase_days or PHASE_DAYS, PHASE_DAYS))
    samples_since = today - dt.timedelta(days=min(team.sample_days or SAMPLE_DAYS, SAMPLE_DAYS))
    found: dict[str, Any] = {
        "used": disk.of_team(team.pk, since, samples_since), "runs": disk.largest_runs(team.pk, since, _RUNS),
    }  # fmt: skip
    # Partitions hold all teams' rows: how much others bring is theirs to know.
    if Team.objects.count() == 1:
        days = [_dropped(one) for one in disk.partitions() if one.day <= today]
        found |= {"partitions": days, "database_bytes": disk.database_bytes()}
    return found


def _dropped(one: disk.Partition) -> dict[str, Any]:
    """A partition with the day on which it is dropped."""
    name = one.table.removeprefix("ingest_") + "s"
    return {"of": one, "name": name, "dropped_on": one.day + dt.timedelta(days=DAYS[one.table] + 1)}


def _progress(row: Any) -> dict[str, Any]:
    total = max(row.rows_total, row.rows_deleted)
    return {"of": row, "share": min(100 * row.rows_deleted // total if total else 0, 99)}
