"""Which runs the list shows, all of it in the URL; `RunFilter.chosen` is what of it was asked for and makes sense."""

import datetime as dt
import re
from typing import Any
from uuid import UUID

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, QuerySet
from django.http import QueryDict
from django.utils import timezone

from dashboard.runs.models import Star
from ingest.detection import finding_kinds
from ingest.models import Run
from ingest.models.runs import RunState
from ingest.queries import run_list, run_search, run_settings

# It stands in the top bar, outside of its form.
_SEARCH = {"type": "search", "form": "filters", "placeholder": "Search runs, hosts, findings", "aria-label": "Search"}
STARTED = {"1d": "the last day", "7d": "the last 7 days", "30d": "the last 30 days", "90d": "the last 90 days"}
_KIND = re.compile(r"[a-z_]{1,32}", re.ASCII)
_OPEN = "open"
LISTED = ("tag", "machine", "device", "person")  # by a label that is typed or chosen


def split(text: str) -> list[str]:
    """The labels of a field, which commas set apart."""
    return list(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))


def _labels(label: str, example: str) -> django_filters.CharFilter:
    attrs = {"placeholder": example, "autocomplete": "off", "list": f"known-{label.lower()}"}
    return django_filters.CharFilter(
        method="labelled", max_length=500, label=label, widget=forms.TextInput(attrs)
    )  # fmt: skip


def _day(label: str) -> django_filters.DateFilter:
    return django_filters.DateFilter(
        method="begun", label=f"{label} (UTC)", widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d")
    )


class RunFilter(django_filters.FilterSet):  # type: ignore[misc]
    """Narrows a team's runs; a value without sense narrows nothing, and `complaint` says so of a configuration."""

    q = django_filters.CharFilter(method="holding", max_length=200, label="Search", widget=forms.TextInput(_SEARCH))
    project = django_filters.CharFilter(widget=forms.Select())
    state = django_filters.ChoiceFilter(choices=[(state, state) for state in RunState.values], empty_label="any")
    findings = django_filters.CharFilter(method="finding", widget=forms.Select())
    tag = _labels("Tag", "baseline")
    person = _labels("Person", "name on the host")
    machine = _labels("Machine", "host, or id of its boot")
    device = _labels("Device", "NVIDIA A40")
    started = django_filters.ChoiceFilter(
        choices=list(STARTED.items()), method="begun", empty_label="any time", label="Started within"
    )
    since = _day("Started since")
    until = _day("Started until")
    config = django_filters.CharFilter(
        method="configured", max_length=500, label="Configuration",
        widget=forms.TextInput({"placeholder": "lr < 1e-3 and optimizer = adamw", "autocomplete": "off"}),
    )  # fmt: skip
    starred = django_filters.ChoiceFilter(
        choices=[("mine", "those with my star")], method="with_star", empty_label="any", label="Stars"
    )
    archived = django_filters.ChoiceFilter(
        choices=[("only", "only those"), ("too", "those too")],
        method="in_archive",
        empty_label="none",
        label="Archived",
    )

    class Meta:
        model = Run
        fields = ("q", "project", "state", "findings")

    def __init__(
        self, data: QueryDict, *, team_id: UUID, user_id: int, projects: list[str], known: dict[str, list[str]]
    ) -> None:
        """`known` are labels to choose from, by sort."""
        super().__init__(data, queryset=run_list.runs_of(team_id))
        self.team_id, self.user_id, self.complaint = team_id, user_id, ""
        self.known = {sort: known.get(sort, []) for sort in LISTED}
        _offer(self.form, "project", projects, data.get("project", ""))
        kinds = [_OPEN, *known.get("finding", [])]
        _offer(self.form, "findings", kinds, data.get("findings", ""))

    def filter_queryset(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        """Narrow by all that was asked; runs in the archive are shown only to who asks for them."""
        narrowed: QuerySet[Run] = super().filter_queryset(runs)
        return narrowed if self.form.cleaned_data.get("archived") else narrowed.filter(archived_at=None)

    def holding(self, runs: QuerySet[Run], _name: str, value: str) -> QuerySet[Run]:
        """Keep runs that hold the words."""
        return run_search.matching(runs, value)

    def finding(self, runs: QuerySet[Run], _name: str, value: str) -> QuerySet[Run]:
        """Keep runs with an open finding, or with one of a kind."""
        if value == _OPEN:
            return run_list.with_open_findings(runs)
        return run_list.labelled(runs, "finding", [value]) if _KIND.fullmatch(value) else runs

    def labelled(self, runs: QuerySet[Run], name: str, value: str) -> QuerySet[Run]:
        """Keep runs that have all of the labels."""
        return run_list.labelled(runs, name, split(value))

    def begun(self, runs: QuerySet[Run], name: str, value: Any) -> QuerySet[Run]:
        """Keep runs that began in the time."""
        if name == "started":
            return runs.filter(started_at__gte=timezone.now() - dt.timedelta(days=int(value[:-1])))
        midnight = dt.datetime.combine(value, dt.time(), dt.UTC)
        if name == "since":
            return runs.filter(started_at__gte=midnight)
        return runs.filter(started_at__lt=midnight + dt.timedelta(days=1)) if value < dt.date.max else runs

    def configured(self, runs: QuerySet[Run], _name: str, value: str) -> QuerySet[Run]:
        """Keep runs whose configuration has all of the values."""
        for one in self.comparisons(value):
            runs = run_settings.configured(runs, self.team_id, one)
        return runs

    def comparisons(self, value: str) -> list[run_settings.Comparison]:
        """What is asked of the configuration; of nonsense nothing, and a complaint."""
        try:
            return run_settings.comparisons(value)
        except ValueError as fault:
            self.complaint = str(fault)
            return []

    def with_star(self, runs: QuerySet[Run], _name: str, _value: str) -> QuerySet[Run]:
        """Keep runs that the person has starred."""
        return runs.filter(Exists(Star.objects.filter(run=OuterRef("pk"), user_id=self.user_id)))

    def in_archive(self, runs: QuerySet[Run], _name: str, value: str) -> QuerySet[Run]:
        """Keep only runs in the archive, or have them too."""
        return runs.filter(archived_at__isnull=False) if value == "only" else runs

    def chosen(self) -> dict[str, str]:
        """Return what was asked for and makes sense, by its name in the URL."""
        self.form.is_valid()
        return {name: str(value) for name, value in self.form.cleaned_data.items() if value}

    @property
    def narrowed(self) -> bool:
        """Whether by words, labels or settings."""
        return bool(self.chosen().keys() & {"q", "findings", "config", *LISTED})

    @property
    def more(self) -> list[forms.BoundField]:
        """The fields that are not pills of their own."""
        return [self.form[name] for name in self.form.fields if name not in ("q", "project", "state", "findings")]


def _offer(form: forms.Form, name: str, known: list[str], chosen: str) -> None:
    """Have the field offer what is known, and what is chosen."""
    named = known if chosen in ("", *known) else [chosen, *known]
    words = [(each, finding_kinds.name(each) if name == "findings" else each) for each in named]
    form.fields[name].widget.choices = [("", "any"), *words]
