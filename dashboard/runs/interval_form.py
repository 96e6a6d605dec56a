"""The form in which an interval is defined, by people and by scripts alike."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.db import IntegrityError
from django.http import Http404

from dashboard.teams.names import all_seen
from ingest.models import Interval, Run
from ingest.queries import intervals
from ingest.store import intervals as store

if TYPE_CHECKING:  # Django's own class takes no parameter
    IntervalModelForm = forms.ModelForm[Interval]
else:
    IntervalModelForm = forms.ModelForm
_PROJECT, _RUN = "project", "run"
_LEAST_S = 0.001
_TAKEN = "There is one of this name already."
_UNSEEN = "It has line breaks, characters that cannot be seen, or marks that turn the words around it."
_PARTS = {"which": "first or last", "of": "start, end or event", "name": "name of the phase or event"}
_ENDS = {f"{end}_{part}": label for end in ("begin", "end") for part, label in _PARTS.items()}


class IntervalForm(IntervalModelForm):
    """An interval of a run or of its whole project; `most_s` left empty asks for no check."""

    of = forms.ChoiceField(
        choices=[(_PROJECT, "all runs of the project"), (_RUN, "this run alone")], initial=_PROJECT, label="Measured in"
    )
    most_s = forms.FloatField(
        required=False, min_value=_LEAST_S, max_value=1e6, label="At most, in seconds (empty: no check)"
    )

    class Meta:
        model = Interval
        fields = ("name", "begin_which", "begin_of", "begin_name", "end_which", "end_of", "end_name", "most_s")
        labels = {"name": "What is it called?", **_ENDS}

    def __init__(self, *args: Any, run: Run, **more: Any) -> None:
        """`run` is the one that is looked at."""
        super().__init__(*args, **more)
        self.run = run
        if self.instance.pk:
            self.initial["of"] = _PROJECT if self.instance.run_id is None else _RUN
        for name in ("begin_name", "end_name"):
            self.fields[name].widget.attrs |= {"list": "boundaries", "autocomplete": "off"}

    @property
    def boundaries(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Both ends with their fields."""
        return [
            (label, [self[f"{end}_{part}"] for part in _PARTS])
            for label, end in (("From the", "begin"), ("To the", "end"))
        ]

    def clean(self) -> dict[str, Any]:
        """Have no other of that name, no more than can be shown, and two boundaries that differ."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        own = self.run if cleaned.get("of") == _RUN else None
        others = Interval.objects.filter(run=own) if own else intervals.defined(self.run).filter(run=None)
        others = others.exclude(pk=self.instance.pk)
        if others.filter(name=cleaned.get("name")).exists():
            self.add_error("name", _TAKEN)
        if others.count() >= store.MOST:
            self.add_error(None, f"There are {store.MOST} already, and more are not measured.")
        if "name" in cleaned and not all_seen(cleaned["name"]):
            self.add_error("name", _UNSEEN)
        if all(cleaned.get(f"begin_{part}") == cleaned.get(f"end_{part}") for part in _PARTS):
            self.add_error("end_name", "It begins and ends at the same instant.")
        return cleaned

    def stored(self) -> Interval | None:
        """Store it where it is valid, and have it judged; None where it is not.

        Raises Http404 where the definition or its run has been deleted meanwhile.
        """
        try:
            # What others define at once would not be seen by a check before.
            with store.changing(self.instance, self.run):
                return self._stored()
        except store.GoneError:
            raise Http404("no such interval") from None

    def _stored(self) -> Interval | None:
        if not self.is_valid():
            return None
        row = self.instance
        row.team_id, row.project = self.run.team_id, self.run.project
        row.run = self.run if self.cleaned_data["of"] == _RUN else None
        try:
            store.save(row, self.run)
        except IntegrityError:
            self.add_error("name", _TAKEN)
            return None
        return row


def forget(row: Interval, run: Run) -> None:
    """Have it measured no more. Raises Http404 where somebody else was quicker, or the run (looked at) is no more."""
    try:
        store.remove(row, run)
    except store.GoneError:
        raise Http404("no such interval") from None
