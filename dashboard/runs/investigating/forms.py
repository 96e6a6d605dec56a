"""The form of an investigation: what was changed, and which check later runs should pass."""

from typing import TYPE_CHECKING, Any

from django import forms

from dashboard.runs.models import Investigation
from dashboard.runs.models.investigations import Bound, Check, Metric
from dashboard.teams.names import all_seen
from ingest.models.intervals import MOST_S

if TYPE_CHECKING:  # Django's own class takes no parameter
    InvestigationModelForm = forms.ModelForm[Investigation]
else:
    InvestigationModelForm = forms.ModelForm
_UNSEEN = "It has line breaks, characters that cannot be seen, or marks that turn the words around it."


class InvestigationForm(InvestigationModelForm):
    """An investigation; the finding that it is of stays what it was."""

    bound = forms.FloatField(required=False, min_value=0, max_value=MOST_S, label="The bound (seconds, or percent)")

    class Meta:
        model = Investigation
        fields = ("title", "change", "check_by", "interval", "metric", "side", "bound", "tag", "state", "conclusion")
        labels = {
            "title": "What is it about?", "change": "What was changed?", "check_by": "Later runs pass where",
            "interval": "Which interval (by its name)", "metric": "Which figure (median of a run’s last rounds)",
            "side": "It is to be", "tag": "Runs of the project with this tag join by themselves", "state": "State",
            "conclusion": "What follows from it?",
        }  # fmt: skip
        widgets = {
            "change": forms.Textarea(attrs={"rows": 3}), "conclusion": forms.Textarea(attrs={"rows": 2}),
            "interval": forms.TextInput(attrs={"list": "interval-names", "autocomplete": "off"}),
        }  # fmt: skip

    def __init__(self, *args: Any, **more: Any) -> None:
        """A new one has no state to choose yet."""
        super().__init__(*args, **more)
        if not self.instance.pk:
            del self.fields["state"], self.fields["conclusion"]

    def clean(self) -> dict[str, Any]:
        """Have what its check needs, and names that can be seen."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        by = cleaned.get("check_by")
        if by == Check.INTERVAL and not cleaned.get("interval"):
            self.add_error("interval", "Which interval’s check is meant?")
        if by == Check.METRIC and not cleaned.get("metric"):
            self.add_error("metric", "Which figure is meant?")
        if by == Check.METRIC and cleaned.get("bound") is None:
            self.add_error("bound", "What is the bound?")
        if by == Check.ABSENT and not self.instance.kind:
            self.add_error("check_by", "There is no finding that could stay away.")
        for name in ("title", "interval", "tag"):
            if not all_seen(cleaned.get(name) or ""):
                self.add_error(name, _UNSEEN)
        return cleaned


def check_words(row: Investigation) -> str:
    """The check as a sentence."""
    if row.check_by == Check.INTERVAL:
        return f"the check of “{row.interval}” passes in 19 of 20 rounds"
    if row.check_by == Check.METRIC:
        unit = "s" if row.metric == Metric.ROUND_S else "%"
        name = Metric(row.metric).label.partition(" (")[0] if row.metric in Metric.values else row.metric
        return f"{name} is {Bound(row.side).label} {row.bound:g}\N{NO-BREAK SPACE}{unit}"
    return "the finding does not come again"
