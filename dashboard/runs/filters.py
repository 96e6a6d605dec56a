"""Which runs the list shows: project, state, findings and a text, all of them in the URL."""

from typing import Any

import django_filters
from django import forms
from django.db.models import QuerySet
from django.http import QueryDict

from ingest.models import Run
from ingest.models.runs import RunState
from ingest.queries import run_list

# It stands in the top bar, outside of its form.
_SEARCH = {"type": "search", "form": "filters", "placeholder": "Search runs and hosts", "aria-label": "Search"}


class RunFilter(django_filters.FilterSet):  # type: ignore[misc]
    """Narrows a team's runs; a value that makes no sense narrows nothing."""

    q = django_filters.CharFilter(
        method="holding",
        max_length=200,
        label="Search",
        widget=forms.TextInput(_SEARCH),
    )
    project = django_filters.CharFilter(widget=forms.Select())
    state = django_filters.ChoiceFilter(choices=[(state, state) for state in RunState.values], empty_label="any")
    findings = django_filters.ChoiceFilter(choices=[("open", "open")], method="finding", empty_label="any")

    class Meta:
        model = Run
        fields = ("q", "project", "state", "findings")

    def __init__(self, data: QueryDict, *, queryset: QuerySet[Run], projects: list[str]) -> None:
        super().__init__(data, queryset=queryset)
        chosen = data.get("project", "")
        named = projects if chosen in ("", *projects) else [chosen, *projects]
        self.form.fields["project"].widget.choices = [("", "any"), *((name, name) for name in named)]

    def holding(self, runs: QuerySet[Run], _name: str, value: str) -> QuerySet[Run]:
        """Keep runs that hold the text."""
        return run_list.matching(runs, value)

    def finding(self, runs: QuerySet[Run], _name: str, _value: str) -> QuerySet[Run]:
        """Keep runs with an open finding."""
        return run_list.with_open_findings(runs)

    def chosen(self) -> dict[str, Any]:
        """Return what was asked for and makes sense, by its name in the URL."""
        self.form.is_valid()
        return {name: value for name, value in self.form.cleaned_data.items() if value}
