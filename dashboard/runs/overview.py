"""The overview of a run: key figures, what was found when, its workers, conditions and configuration."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.runs import facts, joining, moments, pictures, round_strip, stars
from dashboard.runs.conditions import Row, configured
from dashboard.runs.figures import Figure, figures
from dashboard.teams.access import may_change, run_for
from dashboard.teams.sign_in import signed_in
from ingest.detection import finding_kinds
from ingest.models import Run
from ingest.queries import run_rounds, run_story, run_work
from ingest.queries.run_rounds import Rounds
from roundwatch.wire import KINDS

_CONDITIONS = ("devices", "driver", "cuda", "rocm", "nccl", "torch", "python", "cpu_model", "memory_bytes")
_MOST_MACHINES = 64
_MOST_WORKERS = 128  # on the whole page
_MOST_CONFIGURED = 300
_MOST_STORIES = 50


@dataclass(frozen=True, slots=True)
class Story:
    """A finding with the address of the moment that it speaks of, "" where that is not known."""

    told: run_story.Told
    href: str


@dataclass(frozen=True, slots=True)
class Crew:
    """A machine with those of its workers that are listed."""

    machine: run_story.Machine
    listed: list[run_story.Member]

    @property
    def more(self) -> int:
        """How many are not."""
        return len(self.machine.workers) - len(self.listed)


@dataclass(frozen=True, slots=True)
class Settings:
    """What stands together in a configuration; `name` is "" for what stands alone."""

    name: str
    rows: list[Row]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def overview(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show a run on one page; its queries are as many for a long run as for a short one.

    A POST joins it with another site's run, or takes it out of those it is joined with.
    """
    run = run_for(request.user, run_id)
    may_edit = may_change(request.user, run.team)
    if request.method == "POST":
        if not may_edit:
            raise PermissionDenied
        return joining.act(request, run)
    rounds = run_rounds.newest(run)
    told = run_story.findings(run)
    machines = run_story.machines(run)
    configuration = configured(run.config)
    context = {
        "run": run, "tab": "overview", "may_edit": may_edit,
        "starred": bool(stars.of(request.user, [run.pk])),
        "figures": _figures(run, rounds),
        "bar": pictures.bar(_shares(rounds)), "kinds": KINDS,
        "strip": round_strip.strip(run.pk, rounds, _found(told)),
        "stories": [Story(one, _moment(run, one)) for one in told[:_MOST_STORIES]],
        "unlisted_stories": max(0, len(told) - _MOST_STORIES), "more_stories": len(told) >= run_story.MOST_FINDINGS,
        "machines": crews(machines[:_MOST_MACHINES]),
        "unlisted_machines": max(0, len(machines) - _MOST_MACHINES),
        "workers": sum(len(machine.workers) for machine in machines),
        "sites": joining.sites(run), "candidates": joining.candidates(run) if may_edit else [],
        "conditions": _conditions(run),
        "settings": grouped(configuration[:_MOST_CONFIGURED]),
        "unlisted": max(0, len(configuration) - _MOST_CONFIGURED),
    }  # fmt: skip
    return render(request, "runs/overview.html", context)


def _figures(run: Run, rounds: Rounds) -> list[Figure]:
    hours, peak = run.gpu_hours, run_work.memory_peak(run)
    return figures(run, timezone.now(), rounds, run_rounds.communication(rounds.measured), hours, peak)


def crews(machines: Sequence[run_story.Machine]) -> list[Crew]:
    """Each machine with as many of its workers as have room on the page."""
    each = max(1, _MOST_WORKERS // max(1, len(machines)))
    return [Crew(one, one.workers[:each]) for one in machines]


def _shares(rounds: Rounds) -> list[float] | None:
    """Per kind its seconds as a share of the wall time, over the rounds where they are known."""
    known = ~np.isnan(rounds.kind_s).any(axis=1)
    wall = float(rounds.wall_s[known].sum())
    return (rounds.kind_s[known].sum(axis=0) / wall).tolist() if wall > 0 else None


def _found(told: list[run_story.Told]) -> dict[int, str]:
    """What was found by round; what is only worth knowing marks none."""
    found: dict[int, str] = {}
    for one in told:
        for index in one.finding.rounds if one.finding.severity != "info" else ():
            what = finding_kinds.headline(one.finding.kind, one.finding.phase)
            found[index] = f"{found[index]}, {what}" if index in found else what
    return found


def _moment(run: Run, one: run_story.Told) -> str:
    at = one.moment
    if at is None:
        return ""
    return moments.link(run.pk, index=at.round, begin_ns=at.begin_ns, end_ns=at.end_ns, span=one.span)


def _conditions(run: Run) -> list[tuple[str, facts.Value]]:
    """The few that decide most, as the newest worker told them."""
    known = facts.flat(run.conditions)
    return [(facts.label(name), facts.value(name, facts.text(known, name))) for name in _CONDITIONS if name in known]


def grouped(rows: list[Row]) -> list[Settings]:
    """Rows of dotted names by their first part, single ones first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        head, dot, rest = row.label.partition(".")
        groups.setdefault(head if dot else "", []).append(Row(rest, row.said) if dot else row)
    return [Settings(name, groups[name]) for name in sorted(groups)]
