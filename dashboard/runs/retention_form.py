"""How long a team keeps what: days within what the installation keeps, and what a shorter time takes away."""

import datetime as dt
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms

from dashboard.teams.models import Team
from ingest.queries import shortening
from ingest.store.retention import PHASE_DAYS, SAMPLE_DAYS

if TYPE_CHECKING:  # Django's own class takes no parameter
    TeamModelForm = forms.ModelForm[Team]
else:
    TeamModelForm = forms.ModelForm
_MOST_RUN_DAYS = 3650


class RetentionForm(TeamModelForm):
    """Days for samples, phases and runs; what is left empty is the installation's own, for runs without an end."""

    sample_days = forms.IntegerField(
        required=False, min_value=1, max_value=SAMPLE_DAYS, label="Samples", help_text=f"1 to {SAMPLE_DAYS} days"
    )
    phase_days = forms.IntegerField(
        required=False, min_value=1, max_value=PHASE_DAYS, label="Phases and events",
        help_text=f"1 to {PHASE_DAYS} days",
    )  # fmt: skip
    summary_days = forms.IntegerField(
        required=False, min_value=1, max_value=_MOST_RUN_DAYS, label="Runs",
        help_text=f"1 to {_MOST_RUN_DAYS} days; for ever where empty",
    )  # fmt: skip

    class Meta:
        model = Team
        fields: ClassVar = ["sample_days", "phase_days", "summary_days"]

    def __init__(self, data: Any = None, *, instance: Team) -> None:
        """Of `instance` with what it keeps now."""
        self._before = {name: getattr(instance, name) for name in self.Meta.fields}
        super().__init__(data, instance=instance)

    def changed(self) -> list[str]:
        """The names of what is to be otherwise."""
        return [name for name in self.Meta.fields if self.cleaned_data[name] != self._before[name]]

    def store(self) -> None:
        """Keep these days, and leave all else of the team as it is by now."""
        Team.objects.filter(pk=self.instance.pk).update(**{name: self.cleaned_data[name] for name in self.Meta.fields})

    def told(self) -> str:
        """What is changed to what, in words."""
        return ", ".join(
            f"{self.fields[name].label} {f'{days} days' if (days := self.cleaned_data[name]) else 'as installed'}"
            for name in self.changed()
        )

    def is_confirmed(self) -> bool:
        """Whether it was asked, and answered, that just these days are meant."""
        return self.data.get("confirmed") == self.asked()

    def asked(self) -> str:
        """What a confirmation is of."""
        return " ".join(str(self.cleaned_data[name] or "-") for name in self.Meta.fields)

    def lost(self, today: dt.date) -> list[str]:
        """What the change takes away, in words; nothing where nothing gets shorter."""
        team = self.instance.pk
        told = []
        if days := self._shorter("sample_days", SAMPLE_DAYS):
            day = today - dt.timedelta(days=days)
            runs = _counted(shortening.runs_with_days_before(team, day))
            told.append(f"Samples that arrived before {day:%Y-%m-%d}: curves of {runs} end there.")
        if days := self._shorter("phase_days", PHASE_DAYS):
            day = today - dt.timedelta(days=days)
            runs = _counted(shortening.runs_with_days_before(team, day))
            told.append(f"Phases and events that arrived before {day:%Y-%m-%d}: timelines of {runs} lose them.")
        if days := self._shorter("summary_days", None):
            day = today - dt.timedelta(days=days)
            runs = _counted(shortening.runs_last_heard_before(team, day))
            told.append(f"Runs last heard of before {day:%Y-%m-%d}, with all that is known of them: {runs}.")
        return told

    def _shorter(self, name: str, usual: int | None) -> int | None:
        """The days of a time that is to be shorter than it is; None for any other."""
        before, days = self._before[name] or usual, self.cleaned_data[name] or usual
        return days if days is not None and (before is None or days < before) else None


def _counted(runs: int) -> str:
    return f"{runs or 'no'} run{'' if runs == 1 else 's'}"
