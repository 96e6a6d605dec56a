"""Runs that are sites of one training: which may be, which are, and joining them and taking them apart."""

import datetime as dt
import uuid
from dataclasses import dataclass

from django.contrib import messages
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from dashboard.runs.models import JoinedRun
from dashboard.teams.access import Visitor, run_for
from dashboard.teams.audit import audit
from dashboard.teams.models import Area
from dashboard.teams.names import legible
from ingest.models import Run, Worker
from ingest.models.standings import Standing

# Sites of one training are started by hand, one after the other, and not days apart.
_APART = dt.timedelta(days=1)
_MOST_CANDIDATES = 8
MOST_SITES = 64


class TooManySitesError(Exception):
    """More runs than one training is shown with."""


def act(request: HttpRequest, run: Run) -> HttpResponse:
    """What a POST of an owner or member says to `do`: join with `run`, or leave; then the run's page again."""
    if request.POST.get("do") == "leave":
        if leave(run):
            audit(request, run.team, Area.RUN, f"showed the run “{run.name}” by itself again")
        messages.success(request, "This run stands by itself again.")
        return redirect("run_overview", run.pk)
    other = run_for(request.user, request.POST.get("run", ""))
    if request.POST.get("do") != "join" or other.pk == run.pk or other.team_id != run.team_id:
        raise Http404("no such run to join")
    try:
        join(run, other, request.user)
    except TooManySitesError:
        messages.error(request, f"At most {MOST_SITES} runs can be shown as one training.")
    else:
        audit(request, run.team, Area.RUN, f"showed the runs “{run.name}” and “{other.name}” as one training")
        messages.success(request, f"“{legible(other.name)}” and this run are shown as one training.")
    return redirect("run_overview", run.pk)


@dataclass(frozen=True, slots=True)
class Site:
    """A run of a group with what the list of runs knows of it, and the names of its sites as its workers told them."""

    run: Run
    standing: Standing | None
    names: list[str]


def sites(run: Run) -> list[Site]:
    """All runs of the run's group, itself among them, the earliest first; empty for a run that is joined with none."""
    group = JoinedRun.objects.filter(run=run).values("group")
    rows = Run.objects.filter(team=run.team_id, joined__group__in=group).select_related("standing")
    found = list(rows.order_by("started_at", "pk")[:MOST_SITES])
    if len(found) < 2:
        return []
    named: dict[uuid.UUID, list[str]] = {}
    told = Worker.objects.filter(run__in=found).exclude(site=None).order_by("site")
    for key, name in told.values_list("run_id", "site").distinct():
        named.setdefault(key, []).append(name or "")
    return [Site(each, getattr(each, "standing", None), named.get(each.pk, [])) for each in found]


def candidates(run: Run) -> list[Run]:
    """Runs that may be other sites of the same training: of its project, at the same time, on none of its machines.

    Those come first that began when it did.
    """
    until = run.ended_at or timezone.now()
    begun = (run.started_at - _APART, min(run.started_at + _APART, until))
    same = Worker.objects.filter(run=run, machine=OuterRef("machine")).exclude(machine="")
    shared = Worker.objects.filter(Exists(same), run=OuterRef("pk"))
    mine = JoinedRun.objects.filter(run=run, group=OuterRef("joined__group"))
    rows = Run.objects.filter(team=run.team_id, project=run.project, started_at__range=begun)
    rows = rows.filter(Q(ended_at=None) | Q(ended_at__gt=run.started_at)).exclude(pk=run.pk)
    rows = rows.only("name", "state", "started_at")  # configurations may be long
    found = list(rows.exclude(Exists(shared)).exclude(Exists(mine)).order_by("-started_at")[: 4 * _MOST_CANDIDATES])
    return sorted(found, key=lambda each: abs(each.started_at - run.started_at))[:_MOST_CANDIDATES]


@transaction.atomic
def join(run: Run, other: Run, user: Visitor) -> None:
    """Make two runs of a team, with what they are joined with already, one group. Raises TooManySitesError."""
    # In one order, so that two who join the same runs wait for each other.
    list(Run.objects.select_for_update(no_key=True).filter(pk__in=[run.pk, other.pk]).order_by("pk").values("pk"))
    rows = {row.run_id: row for row in JoinedRun.objects.filter(run__in=[run, other])}
    groups = {row.group for row in rows.values()}
    group = min(groups, default=None) or uuid.uuid4()
    JoinedRun.objects.filter(team=run.team_id, group__in=groups).update(group=group)
    for each in (run, other):
        if each.pk not in rows:
            JoinedRun.objects.create(run=each, team_id=run.team_id, group=group, joined_by_id=user.pk)
    if JoinedRun.objects.filter(team=run.team_id, group=group).count() > MOST_SITES:
        raise TooManySitesError


@transaction.atomic
def leave(run: Run) -> bool:
    """Take a run out of its group, if it is in one; the others stay together, the last one of two alone."""
    row = JoinedRun.objects.select_for_update().filter(run=run).first()
    if row is None:
        return False
    row.delete()
    left = JoinedRun.objects.filter(team=run.team_id, group=row.group)
    if left.count() < 2:
        left.delete()
    return True
