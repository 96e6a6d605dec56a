"""Forms in which a team's rules and channels are edited."""

from typing import TYPE_CHECKING, Any

from django import forms

from dashboard.alerts import channels, quiet, rules
from dashboard.alerts.models import Channel, Rule
from dashboard.teams.models import Team
from dashboard.teams.names import legible
from ingest.detection import finding_kinds

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
        choices=[(kind, finding_kinds.name(kind)) for kind in rules.KINDS], required=False,
        widget=forms.CheckboxSelectMultiple, label="Kinds of finding",
    )  # fmt: skip
    severities = forms.MultipleChoiceField(
        choices=[(each, each) for each in rules.SEVERITIES], required=False,
        widget=forms.CheckboxSelectMultiple, label="Severities",
    )  # fmt: skip
    escalate_after = forms.IntegerField(
        required=False, min_value=1, max_value=24 * 60, label="Escalate after this many minutes"
    )
    phases = Words(label="Phases, any of")
    projects = Words(label="Projects, any of")
    tags = Words(label="Tags of the run, at least one of")

    class Meta:
        model = Rule
        fields = (
            "name", "enabled", "pages", "kinds", "severities", "phases", "projects", "tags", "channels",
            "escalate_after", "escalate_to",
        )  # fmt: skip
        widgets = dict.fromkeys(("channels", "escalate_to"), forms.CheckboxSelectMultiple)
        labels = {
            "pages": "Wake somebody", "channels": "Channels that are told",
            "escalate_to": "Channels that are told then, too",
        }  # fmt: skip
        help_texts = {"pages": ""}

    def __init__(self, *args: Any, team: Team, **more: Any) -> None:
        """Only the team's own channels may be chosen."""
        super().__init__(*args, **more)
        self.instance.team = team
        own = Channel.objects.filter(team=team).order_by("name")
        for name in ("channels", "escalate_to"):
            self.fields[name].queryset = own  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """See that who is told later is told after some time, and the other way round."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "escalate_after" in cleaned and bool(cleaned["escalate_after"]) is not bool(cleaned.get("escalate_to")):
            said = "Say both after how long and whom, or neither."
            self.add_error("escalate_after" if not cleaned["escalate_after"] else "escalate_to", said)
        elif again := self._told_at_once(cleaned):
            said = f"Told at once already, and never a second time: {', '.join(again)}. "
            self.add_error("escalate_to", said + "Choose others, or choose above who is told at once.")
        return cleaned

    def _told_at_once(self, cleaned: dict[str, Any]) -> list[str]:
        """Whom of those that are told later the rule tells at once, so that nothing would come of it."""
        own, pages = {one.pk for one in cleaned.get("channels") or ()}, bool(cleaned.get("pages"))
        return [
            legible(one.name) for one in cleaned.get("escalate_to") or () if rules.tells_at_once(one, own, pages=pages)
        ]

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
    quiet_zone = forms.CharField(max_length=64, required=False, label="By the clocks of", initial=quiet.UTC)

    class Meta:
        model = Channel
        fields = (
            "name", "way", "to", "pages_only", "quiet_from", "quiet_to", "quiet_zone", "quiet_pages", "enabled",
        )  # fmt: skip
        labels = {
            "pages_only": "Only to wake somebody", "quiet_from": "Quiet from", "quiet_to": "Quiet to",
            "quiet_pages": "Wake somebody even then",
        }  # fmt: skip
        help_texts = {"pages_only": "", "quiet_pages": ""}
        widgets = dict.fromkeys(("quiet_from", "quiet_to"), forms.TimeInput(attrs={"type": "time"}, format="%H:%M"))

    def __init__(self, *args: Any, team: Team, **more: Any) -> None:
        """Show where it goes to now."""
        super().__init__(*args, **more)
        self.instance.team = team
        self.initial.setdefault("to", self.instance.settings.get("to", ""))

    def clean_quiet_zone(self) -> str:
        """A place whose clocks are known."""
        zone = str(self.cleaned_data["quiet_zone"]) or quiet.UTC
        if zone not in quiet.zones():
            raise forms.ValidationError("No clocks are known of it: write UTC, or a place like Europe/Berlin.")
        return zone

    def clean(self) -> dict[str, Any]:
        """Have the way check where to, and see that quiet hours have a begin and an end."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        begin, end = cleaned.get("quiet_from"), cleaned.get("quiet_to")
        if (begin is None) is not (end is None) and not {"quiet_from", "quiet_to"} & set(self.errors):
            self.add_error("quiet_to", "Say both from when and to when it is quiet, or neither.")
        elif begin is not None and begin == end:
            self.add_error("quiet_to", "Quiet hours end at another time than they begin.")
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
