"""The page that compares runs, and the search for runs to compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.runs.comparing import boxes, figures, gantts
from dashboard.runs.comparing.conditions import Fact, conditions_of, configuration_of, with_declared
from dashboard.runs.comparing.declaring import ComparableForm, declared_of, differing_of
from dashboard.runs.comparing.figures import Known
from dashboard.runs.comparing.sides import LETTERS, MOST_RUNS, Side, query_of, sides_of, with_, without
from dashboard.runs.comparing.verdicts import said
from dashboard.teams.access import choice_of, may_change
from dashboard.teams.models import Team
from dashboard.teams.sign_in import signed_in
from ingest.detection import comparing
from ingest.detection.facts import Floats
from ingest.models import Run
from ingest.queries.comparing import analysed, rounds_of
from ingest.queries.comparing_memory import peaks
from ingest.queries.comparing_phases import one_round, phase_seconds
from roundwatch.wire import KINDS

_MOST_CHARS = 200
_MOST_FOUND = 12


@dataclass(frozen=True, slots=True)
class Column:
    """A run of a side, and the page without it."""

    side: Side
    run: Run
    number: int
    without: str
    known: Known

    @property
    def label(self) -> str:
        """ "A", or "A 2" where its side has several."""
        return self.side.name if len(self.side.runs) == 1 else f"{self.side.name}\N{NO-BREAK SPACE}{self.number}"


@dataclass(frozen=True, slots=True)
class Found:
    """A run that matches the search, with where it could go: (label, page)."""

    run: Run
    ways: list[tuple[str, str]]


@never_cache
@require_safe
@signed_in
def compare(request: HttpRequest) -> HttpResponse:
    """Compare the runs that the URL names; with fewer than two, find some."""
    sides = sides_of(request.user, request.GET)
    team = sides[0].runs[0].team if sides else choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    context: dict[str, Any] = {"team": team, "tab": "compare", "query": query_of(side.runs for side in sides)}
    context |= _search(request, team, sides)
    if len(sides) > 1:
        context |= _compared(request, team, sides)
    else:
        context["columns"] = [(side, run, without(sides, run)) for side in sides for run in side.runs]
    return render(request, "runs/compare.html", context)


def _compared(request: HttpRequest, team: Team, sides: list[Side]) -> dict[str, Any]:
    columns = [
        Column(side, run, number, without(sides, run), _known(run))
        for side in sides
        for number, run in enumerate(side.runs, 1)
    ]
    runs = [column.run for column in columns]
    facts = with_declared(conditions_of(runs), declared_of(team.pk))
    differing = differing_of(facts)
    allowed = may_change(request.user, team)
    drawn = _gantts(request, columns)
    return {
        "columns": columns, "conditions": _parted(facts), "configuration": _parted(configuration_of(runs)),
        "verdict": said(_verdict(sides, columns, differing)), "declared": _declared(facts),
        "form": ComparableForm(differing=differing) if differing and allowed else None, "allowed": allowed,
        "differing": differing, "asked": urlencode(query_of(side.runs for side in sides)),
        "figures": figures.figures([column.known for column in columns]), "gantts": drawn,
        "axis_ms": gantts.axis_ms(drawn), "ticks": gantts.ticks(drawn), "kinds": KINDS, **_phases(sides, columns),
    }  # fmt: skip


def _known(run: Run) -> Known:
    rounds = rounds_of(run)
    return Known(rounds, analysed(rounds), peaks(rounds))


def _parted(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    return {"differ": [one for one in facts if not one.equal], "equal": [one for one in facts if one.equal]}


def _declared(facts: Sequence[Fact]) -> list[Any]:
    """The words that count here, each once."""
    return list({fact.declared.pk: fact.declared for fact in facts if fact.declared is not None}.values())


def _verdict(sides: Sequence[Side], columns: Sequence[Column], differing: Sequence[Fact]) -> comparing.Verdict:
    tried = [
        comparing.Side(side.name, [
            comparing.Timed(column.label, column.known.rounds.seconds) for column in columns if column.side is side
        ])
        for side in sides
    ]  # fmt: skip
    differ = [fact.label for fact in differing if fact.known]
    silent = [fact.label for fact in differing if not fact.known]
    return comparing.judge(tried, differ, silent)


def _phases(sides: Sequence[Side], columns: Sequence[Column]) -> dict[str, Any]:
    """What phases took, the runs of a side together; of several rounds each, as many as may be read."""
    taken: dict[str, tuple[int, dict[str, list[Floats]]]] = {}
    counts = []
    for column in columns:
        found, count = phase_seconds(column.known.rounds)
        counts.append((column.label, figures.counted(count, "round")))
        for name, (kind, seconds) in found.items():
            taken.setdefault(name, (kind, {}))[1].setdefault(column.side.name, []).append(seconds)
    joined = {
        name: (kind, {side: np.concatenate(each) for side, each in by_side.items()})
        for name, (kind, by_side) in taken.items()
    }
    shown = boxes.phases(joined, [side.name for side in sides])
    return {
        "phases": shown, "phase_counts": counts, "phases_left": len(joined) - len(shown), "box_width": boxes.WIDTH,
        "box_height": boxes.HEIGHT,
    }  # fmt: skip


def _gantts(request: HttpRequest, columns: Sequence[Column]) -> list[gantts.Gantt]:
    """One of each side: its first run that has a round; `round` asks for rounds in the order of sides."""
    asked = request.GET.getlist("round")
    drawn = []
    letters = list(dict.fromkeys(column.side.letter for column in columns))
    for place, letter in enumerate(letters):
        wanted = asked[place] if place < len(asked) else ""
        index = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else None
        own = [column for column in columns if column.side.letter == letter and column.known.rounds.ids]
        found = one_round(own[0].known.rounds, index) or one_round(own[0].known.rounds, None) if own else None
        if own and found is not None:
            drawn.append(gantts.gantt(own[0].label, own[0].run, found, len(letters)))
    return drawn


def _search(request: HttpRequest, team: Team, sides: list[Side]) -> dict[str, Any]:
    text = request.GET.get("q", "").replace("\0", "\ufffd").strip()[:_MOST_CHARS]
    chosen = [run.pk for side in sides for run in side.runs]
    full = len(chosen) >= MOST_RUNS
    if full or not (text or len(sides) < 2):
        return {"q": text, "found": [], "full": full}
    rows = Run.objects.filter(team=team).exclude(pk__in=chosen)
    if text:
        rows = rows.filter(Q(name__icontains=text) | Q(project__icontains=text) | Q(key__icontains=text))
    return {
        "q": text, "full": full,
        "found": [Found(run, _ways(sides, run)) for run in rows.order_by("-started_at", "pk")[:_MOST_FOUND]],
    }  # fmt: skip


def _ways(sides: list[Side], run: Run) -> list[tuple[str, str]]:
    more = [(f"to {side.name}", with_(sides, run, side.letter)) for side in sides]
    return more + ([(f"as {LETTERS[len(sides)].upper()}", with_(sides, run, ""))] if len(sides) < len(LETTERS) else [])
