"""Forms in which a team's rules and channels are edited."""

from typing import TYPE_CHECKING, Any

from django import forms

from dashboard.alerts import channels, rules
from dashboard.alerts.models import Channel, Rule
from dashboard.teams.models import Team

if TYPE_CHECKING:  # Django's own class takes no parameter
    RuleModelForm = forms.ModelForm[Rule]
    ChannelModelForm = forms.ModelForm[Channel]
else:
    RuleModelForm = ChannelModelForm = forms.ModelForm
_MOST_WORDS = 50
_MOST_CHARS = 128


class Words(forms.CharField):
    """Some names with commas between them; nothing asks nothing."""

    def __init__(self, **more: Any) -> None:
        """Not required, and long enough for all its words."""
        super().__init__(required=False, max_length=_MOST_WORDS * (_MOST_CHARS + 2), **more)

    def prepare_value(self, value: Any) -> Any:
        """As it is edited."""
        return ", ".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        """As it is kept."""
        words = [word.strip() for word in super().clean(value).split(",") if word.strip()]
        if len(words) > _MOST_WORDS or any(len(word) > _MOST_CHARS for word in words):
            raise forms.ValidationError(f"At most {_MOST_WORDS} names of at most {_MOST_CHARS} characters.")
        return list(dict.fromkeys(words))


class RuleForm(RuleModelForm):
    """A rule of a team. What is left empty asks nothing."""

    kinds = forms.MultipleChoiceField(
        choices=[(kind, kind.replace("_", " ")) for kind in rules.KINDS], required=False,
        widget=forms.CheckboxSelectMultiple, label="Kinds of findings",
    )  # fmt: skip
    severities = forms.MultipleChoiceField(
        choices=[(each, each) for each in rules.SEVERITIES], required=False,
        widget=forms.CheckboxSelectMultiple, label="Severities",
    )  # fmt: skip
    phases = Words(label="Phases")
    projects = Words(label="Projects")
    tags = Words(label="Tags of the run, any of")

    class Meta:
        model = Rule
        fields = ("name", "enabled", "pages", "kinds", "severities", "phases", "projects", "tags", "channels")
        widgets = {"channels": forms.CheckboxSelectMultiple}
        labels = {"pages": "Wake somebody", "channels": "Channels"}
        help_texts = {"pages": ""}

    def __init__(self, *args: Any, team: Team, **more: Any) -> None:
        """Only the team's own channels may be chosen."""
        super().__init__(*args, **more)
        self.instance.team = team
        self.fields["channels"].queryset = Channel.objects.filter(team=team).order_by("name")  # type: ignore[attr-defined]

    @property
    def choices(self) -> list[forms.BoundField]:
        """The fields in which some of many are ticked."""
        return [self[name] for name in ("kinds", "severities", "channels")]

    @property
    def names(self) -> list[forms.BoundField]:
        """The fields of names with commas between them."""
        return [self[name] for name in ("phases", "projects", "tags")]


class ChannelForm(ChannelModelForm):
    """A channel of a team; where to is checked by its way."""

    way = forms.ChoiceField(choices=[(way.key, way.label) for way in channels.WAYS.values()], label="Way")
    to = forms.CharField(max_length=1000, label="Where to")

    class Meta:
        model = Channel
        fields = ("name", "way", "to", "pages_only", "enabled")
        labels = {"pages_only": "Only to wake somebody"}
        help_texts = {"pages_only": ""}

    def __init__(self, *args: Any, team: Team, **more: Any) -> None:
        """Show where it goes to now."""
        super().__init__(*args, **more)
        self.instance.team = team
        self.initial.setdefault("to", self.instance.settings.get("to", ""))

    def clean(self) -> dict[str, Any]:
        """Have the way check where to."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "way" in cleaned and "to" in cleaned:
            try:
                cleaned["to"] = channels.check(cleaned["way"], cleaned["to"])
            except ValueError as why:
                self.add_error("to", str(why))
        return cleaned

    def save(self, commit: bool = True) -> Channel:  # noqa: FBT001, FBT002 - Django's own
        """Keep where to among the settings."""
        self.instance.settings = {"to": self.cleaned_data["to"]}
        return super().save(commit)
