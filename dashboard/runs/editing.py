"""What people change of one run: its name, tags and note, its star, whether it is archived, and whether it is there."""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.runs import stars
from dashboard.runs.run_form import RunForm
from dashboard.teams.access import may_change, run_for
from dashboard.teams.audit import audit
from dashboard.teams.models import Area
from dashboard.teams.names import legible
from dashboard.teams.sign_in import signed_in
from ingest.models import Run
from ingest.queries import run_rows
from ingest.store import changes, deletion


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def edit(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the form of a run; a POST does what its `do` says: save, archive, restore, star or unstar.

    Everybody in the team may star; the rest is for owners and members.
    """
    run = run_for(request.user, run_id)
    may_edit = may_change(request.user, run.team)
    do = request.POST.get("do", "save") if request.method == "POST" else ""
    if do in ("star", "unstar"):
        (stars.put if do == "star" else stars.take)(request.user, [run.pk])
        if request.htmx:  # type: ignore[attr-defined]
            return HttpResponse(status=204, headers={"HX-Trigger": "acted"})
        return redirect(back(request, run))
    form = RunForm(run=run)
    if do and not may_edit:
        raise PermissionDenied
    if do in ("archive", "restore"):
        changes.change(run, {"archived_at": timezone.now() if do == "archive" else None})
        record(request, "archived" if do == "archive" else "took out of the archive", [run])
        return redirect(back(request, run))
    if do:
        form = RunForm(request.POST, run=run)
        if form.is_valid():
            before = run.name
            if changed := form.changed():
                changes.change(run, changed)
                what = ", ".join(sorted(changed))
                audit(request, run.team, Area.RUN, f"changed {what} of the run “{before}”")
            return redirect(back(request, run))
    context = {"run": run, "may_edit": may_edit, "starred": bool(stars.of(request.user, [run.pk])), "form": form}
    return render(request, "runs/edit.html", context | {"back": back(request, run)})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def delete(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Ask whether to delete a run, and say what goes with it; a POST deletes it."""
    run = run_for(request.user, run_id)
    may_edit = may_change(request.user, run.team)
    if request.method != "POST":
        counts = run_rows.counted([run.pk])
        return render(request, "runs/delete.html", {"runs": [run], "run": run, "counts": counts, "may_edit": may_edit})
    if not may_edit:
        raise PermissionDenied
    record(request, "deleted", [run])
    said(request, [run], gone=deletion.begin(run.pk))
    return redirect("runs")


def record(request: HttpRequest, did: str, runs: list[Run]) -> None:
    """Write into the audit what was done to runs of one team."""
    names = ", ".join(f"“{run.name}”" for run in runs)
    which = f"the run {names}" if len(runs) == 1 else f"{len(runs)} runs: {names}"
    audit(request, runs[0].team, Area.RUN, f"{did} {which}")


def said(request: HttpRequest, runs: list[Run], *, gone: bool) -> None:
    """Tell the person what has become of runs that are deleted."""
    what = f"“{legible(runs[0].name)}”" if len(runs) == 1 else f"{len(runs)} runs"
    verb = "is" if len(runs) == 1 else "are"
    rest = "deleted." if gone else "being deleted, which takes a while: it goes on by itself."
    messages.success(request, f"{what} {verb} {rest}")


def back(request: HttpRequest, run: Run | None = None) -> str:
    """Where the form said it came from, if that is a page of ours; else the run's page, or the list."""
    wanted = request.POST.get("next") or request.GET.get("next", "")
    if url_has_allowed_host_and_scheme(wanted, allowed_hosts=None) and wanted.startswith("/"):
        return wanted
    return reverse("live:run", args=[run.pk]) if run else reverse("runs")
