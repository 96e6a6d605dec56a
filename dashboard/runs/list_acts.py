"""What people do on the list of runs: with several runs at a time, with its columns and with its views."""

import time
from collections.abc import Callable, Sequence
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from dashboard.runs import columns, saved_views, stars
from dashboard.runs.comparing.sides import LETTERS
from dashboard.runs.editing import back, record, said
from dashboard.runs.run_form import tags_in
from dashboard.runs.views import asked_of, filter_of
from dashboard.teams.access import current_team, may_change
from dashboard.teams.audit import audit
from dashboard.teams.meant import elsewhere
from dashboard.teams.models import Area, Team
from dashboard.teams.sign_in import signed_in
from ingest.models import Run
from ingest.queries import run_list, run_rows
from ingest.store import changes, deletion
from roundwatch import wire

MOST_AT_ONCE = 200
_DELETES_FOR_S = 8.0


@never_cache
@require_POST
@signed_in
def act(request: HttpRequest) -> HttpResponse:
    """Do with the chosen runs what `do` says; a button of one row names its own run as `<do>:<id>`."""
    team = current_team(request)
    do, _, own = request.POST.get("do", "").partition(":")
    runs = _chosen(team, [own] if own else request.POST.getlist("run"))
    if do in ("star", "unstar"):
        (stars.put if do == "star" else stars.take)(request.user, [run.pk for run in runs])
        return _done(request)
    if do == "compare":
        if len(runs) > (most := len(LETTERS)):
            messages.error(request, f"At most {most} runs are compared at a time; {len(runs)} are chosen.")
            return redirect(back(request))
        return redirect(f"{reverse('compare')}?{urlencode([('run', run.pk) for run in runs])}")
    work = _ACTS.get(do)
    if work is None:
        return HttpResponseBadRequest("no such act")
    if not may_change(request.user, team):
        raise PermissionDenied
    return work(request, runs) if runs else _done(request)


def _chosen(team: Team, keys: Sequence[str]) -> list[Run]:
    """The team's runs of these ids, in their order; raises Http404 where any is none of theirs."""
    try:
        wanted = list(dict.fromkeys(map(UUID, keys)))
    except ValueError:
        raise Http404("no such run") from None
    runs = run_list.runs_of(team.pk).in_bulk(wanted) if len(wanted) <= MOST_AT_ONCE else {}
    if len(runs) < len(wanted):
        raise Http404("no such run")
    return [runs[key] for key in wanted]


def _archive(request: HttpRequest, runs: list[Run]) -> HttpResponse:
    now = timezone.now() if "archive" in request.POST.get("do", "") else None
    for run in runs:
        changes.change(run, {"archived_at": now})
    record(request, "archived" if now else "took out of the archive", runs)
    return _done(request)


def _tag(request: HttpRequest, runs: list[Run]) -> HttpResponse:
    """Add the tags to all of the runs, or take them from all."""
    adds = request.POST.get("do") == "tag"
    try:
        tags = tags_in(request.POST.get("tag", ""))
    except ValidationError as fault:
        messages.error(request, fault.messages[0])
        return _done(request)
    full, changed = 0, []
    for run in runs:
        after = list(dict.fromkeys([*run.tags, *tags])) if adds else [tag for tag in run.tags if tag not in tags]
        if len(after) > wire.MAX_TAGS:
            full += 1
        elif after != run.tags:
            changes.change(run, {"tags": after})
            changed.append(run)
    if changed:
        record(request, f"{'added' if adds else 'took'} the tags {', '.join(tags)} {'to' if adds else 'from'}", changed)
    if full:
        messages.error(request, f"{full} would have more than {wire.MAX_TAGS} tags and stayed as they were.")
    return _done(request)


def _delete(request: HttpRequest, runs: list[Run]) -> HttpResponse:
    """Ask first; then delete, as much as a request has time for: the watcher goes on with what is left."""
    if request.POST.get("sure") != "yes":
        counts = run_rows.counted([run.pk for run in runs])
        context = {"runs": runs, "run": None, "counts": counts, "may_edit": True}
        return render(request, "runs/delete.html", context)
    record(request, "deleted", runs)
    deadline, gone = time.monotonic() + _DELETES_FOR_S, True
    for run in runs:
        gone &= deletion.begin(run.pk, max(0.0, deadline - time.monotonic()))
    said(request, runs, gone=gone)
    return _done(request)


_ACTS: dict[str, Callable[[HttpRequest, list[Run]], HttpResponse]] = {
    "archive": _archive, "restore": _archive, "tag": _tag, "untag": _tag, "delete": _delete,
}  # fmt: skip


@never_cache
@require_POST
@signed_in
def views(request: HttpRequest) -> HttpResponse:
    """Save what the list shows as a view of the team, or delete one; the list's address is in this URL's query."""
    team = current_team(request)
    if elsewhere(request, team) is not None:
        return redirect("runs")
    if not may_change(request.user, team):
        raise PermissionDenied
    if request.POST.get("do") == "delete":
        name = saved_views.forget(request.user, team, request.POST.get("view", ""))
        if not name:
            raise Http404("no such view")
        audit(request, team, Area.TEAM, f"deleted the view “{name}” of the list of runs")
        return redirect("runs")
    name = request.POST.get("name", "")
    if fault := saved_views.save(request.user, team, name, asked_of(request, filter_of(request, team))):
        messages.error(request, fault)
    else:
        audit(request, team, Area.TEAM, f"saved the view “{' '.join(name.split())}” of the list of runs")
    return _done(request)


@never_cache
@require_POST
@signed_in
def choose_columns(request: HttpRequest) -> HttpResponse:
    """Show other columns to this person from now on."""
    columns.choose(request.user, request.POST.getlist("column"))
    return _done(request)


def _done(request: HttpRequest) -> HttpResponse:
    if request.htmx:  # type: ignore[attr-defined]
        return HttpResponse(status=204, headers={"HX-Trigger": "acted"})
    return redirect(back(request))
