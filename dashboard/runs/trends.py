"""Trends: how the runs of a project have changed over time, those under the same conditions joined by a line."""

import datetime as dt
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard.runs.trend_filters import TrendForm
from dashboard.runs.trend_points import MEASURES, Measure, Spot, drawn, of_runs, of_weeks
from dashboard.teams.access import choice_of
from dashboard.teams.sign_in import signed_in
from ingest.queries import trends as queries
from ingest.queries.trends import Point


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure in words, with what its whisker spans; empty where it has none. `title` is its column's."""

    title: str
    text: str
    span: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    spot: Spot
    cells: list[Cell]


@require_safe
@signed_in
def trends(request: HttpRequest) -> HttpResponse:
    """Show the trends of a project of the team, as charts and as a table."""
    team = choice_of(request)[1]
    if team is None:
        return render(request, "teams/no_team.html", status=403)
    form = TrendForm(request.GET, team.pk)
    points = queries.points(team.pk, form.chosen())
    spots = _spots(form, points)
    known = [measure for at, measure in enumerate(MEASURES) if any(spot.values[at][1] is not None for spot in spots)]
    context = {
        "team": team,
        "form": form,
        "narrowed": any(form.cleaned_data.get(name) for name in ("tag", "device", "begin", "end")),
        "runs": len(points),
        "cut": len(points) == queries.MOST_RUNS,
        "measures": [measure for measure in MEASURES if measure in known],
        "unknown": [measure for measure in MEASURES if measure not in known],
        "listed": _listed(),
        "rows": [_row(spot) for spot in reversed(spots)],
        "drawn": drawn(spots),
    }
    return render(request, "runs/trends.html", context)


def _spots(form: TrendForm, points: list[Point]) -> list[Spot]:
    if not form.by_weeks:
        return of_runs(points, lambda one: reverse("live:run", args=[one.figures.pk]))

    def of_week(day: dt.date) -> str:
        begin, end = day.isoformat(), (day + dt.timedelta(days=6)).isoformat()
        return f"{reverse('trends')}?{form.query(begin=begin, end=end, over='runs').urlencode()}"

    return of_weeks(points, of_week)


def _listed() -> list[Measure]:
    """What the table has a column for: what is there twice in charts once."""
    return [measure for measure in MEASURES if not measure.by_trainers]


def _row(spot: Spot) -> Row:
    cells = []
    for measure, (low, value, high) in zip(MEASURES, spot.values, strict=True):
        if not measure.by_trainers:
            whole = low is not None and high is not None and low < high
            cells.append(
                Cell(
                    measure.title,
                    measure.words(value),
                    f"{measure.words(low)} to {measure.words(high)}" if whole else "",
                )
            )
    return Row(spot, cells)
