"""The pages of investigations: the list, a new one for a finding, and one with its later runs."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dashboard.runs.comparing.sides import href
from dashboard.runs.investigating.forms import InvestigationForm, check_words
from dashboard.runs.investigating.outcomes import PASSED, Outcome, but_its_own, counts, later_runs, outcomes
from dashboard.runs.models import InvestigatedRun, Investigation
from dashboard.runs.models.investigations import State
from dashboard.teams.access import choice_of, may_change, run_for, teams_of
from dashboard.teams.audit import audit
from dashboard.teams.models import Area
from dashboard.teams.names import legible
from dashboard.teams.sign_in import signed_in
from ingest.detection.finding_kinds import headline
from ingest.models import Finding, Interval, Run
from ingest.models.findings import Severity

_PER_PAGE = 50
_MOST_FINDINGS = 20
_MOST_CHOICES = 100
_MOST_ADDED = 200
_MOST_TITLE = 160
_LONGEST_KEY = (1 << 63) - 1


@require_safe
@signed_in
def investigations(request: HttpRequest) -> HttpResponse:
    """List the team's investigations, newest first; `?state=` filters."""
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    state = request.GET.get("state", "")
    rows = Investigation.objects.filter(team=team).select_related("made_by").order_by("-pk")
    if state in State.values:
        rows = rows.filter(state=state)
    page = Paginator(rows, _PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "team": team, "page": page, "state": state, "states": State.values, "tab": "investigations",
        "checks": [(row, check_words(row)) for row in page], "filter": urlencode({"state": state}) if state else "",
    }  # fmt: skip
    return render(request, "runs/investigations.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new(request: HttpRequest) -> HttpResponse:
    """Begin an investigation of `?finding=`; without one, show findings to choose from."""
    key = request.GET.get("finding", "")
    if not key:
        return _choose(request)
    finding = _finding(request, key)
    team = finding.run.team
    allowed = may_change(request.user, team)
    if request.method == "POST" and not allowed:
        raise PermissionDenied
    row = Investigation(
        team=team, project=finding.run.project, run=finding.run, finding=finding, kind=finding.kind,
        phase=finding.phase, observed=finding.observed, since=finding.run.started_at,
    )  # fmt: skip
    title = legible(headline(finding.kind, finding.phase))[:_MOST_TITLE]
    form = InvestigationForm(request.POST if request.method == "POST" else None, instance=row, initial={"title": title})
    if request.method == "POST" and form.is_valid():
        saved = form.save(commit=False)
        saved.made_by_id = saved.changed_by_id = request.user.pk
        saved.made_at = saved.changed_at = timezone.now()
        saved.save()
        audit(request, team, Area.INVESTIGATION, f"opened the investigation “{saved.title}”")
        messages.success(request, "The investigation is open. Add later runs, or give them its tag.")
        return redirect("investigation", saved.pk)
    context = {
        "form": form, "finding": finding, "run": finding.run, "allowed": allowed, "tab": "investigations",
        "interval_names": _interval_names(team.pk, row.project), "others": of_finding(finding),
    }  # fmt: skip
    return render(request, "runs/new_investigation.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def investigation(request: HttpRequest, investigation_id: int) -> HttpResponse:
    """Show one; a POST changes it, adds or removes a run, or deletes it."""
    mine = Investigation.objects.filter(team__in=teams_of(request.user).order_by())
    rows = mine.select_related("team", "run", "finding", "made_by", "changed_by")
    row = get_object_or_404(rows, pk=min(investigation_id, _LONGEST_KEY))
    allowed = may_change(request.user, row.team)
    do = request.POST.get("do", "") if request.method == "POST" else ""
    if request.method == "POST" and not allowed:
        raise PermissionDenied
    if do in _ACTS:
        return _ACTS[do](request, row)
    form = InvestigationForm(request.POST if request.method == "POST" else None, instance=row)
    if request.method == "POST" and form.is_valid():
        saved = form.save(commit=False)
        saved.changed_by_id, saved.changed_at = request.user.pk, timezone.now()
        saved.save()
        audit(request, row.team, Area.INVESTIGATION, f"changed the investigation “{saved.title}” ({saved.state})")
        messages.success(request, "The investigation is changed.")
        return redirect("investigation", row.pk)
    # What a form that is wrong was given stands in its row, and is not stored.
    shown = rows.get(pk=row.pk) if request.method == "POST" else row
    return render(request, "runs/investigation.html", _context(shown, form, allowed=allowed))


def _context(row: Investigation, form: InvestigationForm, *, allowed: bool) -> dict[str, Any]:
    found = outcomes(row)
    return {
        "row": row, "form": form, "allowed": allowed, "tab": "investigations", "outcomes": found,
        "counts": counts(found), "check": check_words(row), "origin": row.run, "compare": _compare(row, found),
        "choices": _choices(row, [one.run for one in found]) if allowed else [],
        "interval_names": _interval_names(row.team_id, row.project),
    }  # fmt: skip


def _compare(row: Investigation, found: list[Outcome]) -> str:
    """The comparison of the finding's run with later ones, those that passed before all; "" where there is none."""
    later = [one.run for one in found if one.answer == PASSED] or [one.run for one in found]
    return href([[row.run], later[:8]]) if row.run is not None and later else ""


def _choices(row: Investigation, known: list[Run]) -> QuerySet[Run]:
    """Later runs of the project that could be added."""
    rows = Run.objects.filter(team=row.team_id, project=row.project, started_at__gt=row.since)
    rows = but_its_own(row, rows).exclude(pk__in=[run.pk for run in known])
    return rows.order_by("-started_at", "pk")[:_MOST_CHOICES]


def _add(request: HttpRequest, row: Investigation) -> HttpResponse:
    run = run_for(request.user, request.POST.get("run", ""))
    if run.team_id != row.team_id or run.pk == row.run_id:
        raise Http404("no such run")
    if row.added.count() >= _MOST_ADDED:
        messages.error(request, f"It has {_MOST_ADDED} runs already.")
    else:
        _, is_new = InvestigatedRun.objects.get_or_create(
            investigation=row, run=run, defaults={"added_by_id": request.user.pk, "added_at": timezone.now()}
        )
        if is_new:
            audit(request, row.team, Area.INVESTIGATION, f"added the run “{run.name}” to “{row.title}”")
        messages.success(request, f"“{legible(run.name)}” is one of its later runs.")
    return redirect("investigation", row.pk)


def _remove(request: HttpRequest, row: Investigation) -> HttpResponse:
    run = run_for(request.user, request.POST.get("run", ""))
    if row.added.filter(run=run).delete()[0]:
        audit(request, row.team, Area.INVESTIGATION, f"took the run “{run.name}” from “{row.title}”")
    still = any(one.pk == run.pk for one, _ in later_runs(row))
    said = "has its tag, and stays" if still else "is no longer one of its later runs"
    messages.success(request, f"“{legible(run.name)}” {said}.")
    return redirect("investigation", row.pk)


def _delete(request: HttpRequest, row: Investigation) -> HttpResponse:
    audit(request, row.team, Area.INVESTIGATION, f"deleted the investigation “{row.title}”")
    row.delete()
    messages.success(request, f"The investigation “{legible(row.title)}” is gone.")
    return redirect("investigations")


_ACTS = {"add": _add, "remove": _remove, "delete": _delete}


def _choose(request: HttpRequest) -> HttpResponse:
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    rows = Finding.objects.filter(run__team=team).exclude(severity=Severity.INFO).select_related("run")
    found = [
        (row, headline(row.kind, row.phase), f"{reverse('new_investigation')}?finding={row.pk}")
        for row in rows.order_by("-opened_at", "pk")[:_MOST_FINDINGS]
    ]
    return render(request, "runs/new_investigation.html", {"team": team, "findings": found, "tab": "investigations"})


def _finding(request: HttpRequest, key: str) -> Finding:
    rows = Finding.objects.filter(run__team__in=teams_of(request.user).order_by()).select_related("run__team")
    try:
        return get_object_or_404(rows, pk=UUID(key))
    except (ValueError, ValidationError):
        raise Http404("no such finding") from None


def of_finding(finding: Finding) -> QuerySet[Investigation]:
    """The investigations of the same thing in the same run, newest first."""
    return Investigation.objects.filter(run=finding.run, kind=finding.kind, phase=finding.phase).order_by("-pk")[:20]


def _interval_names(team: UUID, project: str) -> list[str]:
    rows = Interval.objects.filter(team=team, project=project).exclude(most_s=None)
    return sorted(set(rows.values_list("name", flat=True)[:_MOST_CHOICES]))
