"""Which runs the trends show, all of it in the URL: a project, a tag, a device, a stretch of time, runs or weeks."""

import datetime as dt
from typing import Any
from uuid import UUID

from django import forms
from django.http import QueryDict

from dashboard.teams.names import legible
from ingest.queries import run_choices, trends

OVER = (("", "runs"), ("weeks", "weeks"))


class _Day(forms.DateInput):
    """A date as browsers pick and send it."""

    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")


class TrendForm(forms.Form):
    """What is chosen; a value that makes no sense narrows nothing."""

    project = forms.ChoiceField(required=False)
    tag = forms.ChoiceField(required=False)
    device = forms.ChoiceField(required=False)
    begin = forms.DateField(required=False, label="From", widget=_Day())
    end = forms.DateField(required=False, label="To", widget=_Day())
    over = forms.ChoiceField(required=False, choices=OVER, label="Over")

    def __init__(self, data: QueryDict, team_id: UUID) -> None:
        projects = run_choices.projects_of(team_id)
        asked = data.get("project", "")
        project = asked if asked in projects else trends.newest_project(team_id)
        given = data.copy()
        given["project"] = project
        super().__init__(given)
        self._offer("project", [(name, legible(name)) for name in projects])
        self._offer("tag", _any(trends.tags(team_id, project)))
        self._offer("device", _any(trends.devices(team_id, project)))
        self.is_valid()

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - a fact of the class above
        field.choices = choices

    def chosen(self) -> trends.Chosen:
        """The same as the query takes it; the last day is one of them."""
        known = self.cleaned_data
        end: dt.date | None = known.get("end")
        after = end + dt.timedelta(days=1) if end and end < dt.date.max else None
        return trends.Chosen(
            project=known.get("project", ""), tag=known.get("tag", ""), device=known.get("device", ""),
            begin=_midnight(known.get("begin")), end=_midnight(after),
        )  # fmt: skip

    @property
    def by_weeks(self) -> bool:
        """Whether each point is a week."""
        return self.cleaned_data.get("over") == "weeks"

    def query(self, **other: str) -> QueryDict:
        """The URL's parameters for what is chosen, some of them other than now."""
        found = QueryDict(mutable=True)
        for name in self.fields:
            value = other.get(name, self.cleaned_data.get(name))
            if value:
                found[name] = str(value)
        return found


def _any(names: list[str]) -> list[tuple[str, str]]:
    return [("", "any"), *((name, legible(name)) for name in names)]


def _midnight(day: Any) -> dt.datetime | None:
    return None if day is None else dt.datetime.combine(day, dt.time.min, dt.UTC)
