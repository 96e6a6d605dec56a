"""Pages on which a team sets the thresholds of detection, for all its runs or for one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.teams.access import current_team, may_change, run_for
from dashboard.teams.audit import audit
from dashboard.teams.meant import elsewhere
from dashboard.teams.models import Area, Team
from dashboard.teams.sign_in import signed_in
from ingest.detection.thresholds import SUBJECTS, Subject, Threshold
from ingest.models import Run
from ingest.queries import run_words
from ingest.queries import thresholds as queries
from ingest.store import thresholds as store


class ThresholdsForm(forms.Form):
    """A number for each threshold; what is left empty is not set.

    Each field brings along what it held when the page was made, so that two who edit at a time do not undo each other.
    """

    def __init__(self, data: Any = None, *, known: Mapping[str, float]) -> None:
        """`known` is what is set now, by key."""
        super().__init__(data, initial={key: _plain(value) for key, value in known.items()})
        for one in (each for subject in SUBJECTS for each in subject.thresholds):
            self.fields[one.key] = _field(one)

    def wanted(self) -> dict[str, float | None]:
        """What is to change: values by key, None for what is no longer set."""
        return {key: self.cleaned_data[key] for key in self.changed_data}


@dataclass(frozen=True, slots=True)
class Line:
    """A threshold as the page shows it; `of_team` is what the run's team has set, `own` what is set here."""

    threshold: Threshold
    field: forms.BoundField
    of_team: float | None
    own: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of a subject."""

    subject: Subject
    lines: list[Line]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def of_team(request: HttpRequest) -> HttpResponse:
    """Show the team's thresholds; a POST changes them for all its runs."""
    team = current_team(request)
    return elsewhere(request, team) or _page(request, team, None, "runs/thresholds_of_team.html")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def of_run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show the thresholds of a run beside its team's; a POST changes them for this run alone."""
    run = run_for(request.user, run_id)
    return _page(request, run.team, run, "runs/thresholds_of_run.html")


def _page(request: HttpRequest, team: Team, run: Run | None, template: str) -> HttpResponse:
    allowed, key = may_change(request.user, team), None if run is None else run.pk
    own = queries.set_for(team.pk, key)
    form = ThresholdsForm(known=own)
    if request.method == "POST":
        if not allowed:
            raise PermissionDenied
        form = ThresholdsForm(request.POST, known=own)
        if form.is_valid():
            changed = store.change(team.pk, run, form.wanted(), request.user.pk)
            if changed:
                of = f"of the run “{run.name}”" if run else "of the team"
                audit(request, team, Area.THRESHOLD, f"changed thresholds {of}: {', '.join(changed)}")
            said = f"{len(changed)} changed, and used from the next judgement on."
            messages.success(request, said if changed else "Nothing was changed.")
            return redirect(request.path)
    others = {} if run is None else queries.set_for(team.pk, None)
    context = {
        "team": team, "run": run, "form": form, "allowed": allowed, "tab": "thresholds",
        "parts": [Part(subject, _lines(subject, form, others, own)) for subject in SUBJECTS],
        "changes": queries.changes(team.pk, key), "most": queries.MOST_TOLD, "count": len(own),
        "words": None if run is None else run_words.of_run(run.pk),
    }  # fmt: skip
    return render(request, template, context)


def _lines(subject: Subject, form: forms.Form, of_team: Mapping[str, float], own: Mapping[str, float]) -> list[Line]:
    return [Line(one, form[one.key], of_team.get(one.key), own.get(one.key)) for one in subject.thresholds]


def _field(one: Threshold) -> forms.FloatField:
    return forms.FloatField(
        required=False, min_value=one.least, max_value=one.most, label=one.name, show_hidden_initial=True,
        help_text=f"{one.least:g} to {one.words(one.most)}", validators=[_whole] if one.whole else [],
        # Django's own check of a step takes what is nearly one of its multiples, too.
        widget=forms.NumberInput(attrs={"step": 1} if one.whole else {}),
    )  # fmt: skip


def _whole(value: float) -> None:
    if value != int(value):
        raise forms.ValidationError("A whole number.")


def _plain(value: float) -> float:
    """A whole number without the ".0" that a browser would show."""
    return int(value) if value == int(value) else value
