"""The form in which people name a run, tag it and write about it."""

from django import forms

from dashboard.teams.names import all_seen
from ingest.models import Run
from roundwatch import wire

MOST_NOTE_CHARS = 20_000


def tags_in(text: str) -> list[str]:
    """The tags of a line such as "baseline, keep", each once; raises ValidationError for too many or too long ones."""
    tags = list(dict.fromkeys(filter(None, (" ".join(part.split()) for part in text.split(",")))))
    if len(tags) > wire.MAX_TAGS:
        raise forms.ValidationError(f"At most {wire.MAX_TAGS} tags.")
    if any(len(tag) > wire.MAX_NAME_CHARS for tag in tags):
        raise forms.ValidationError(f"A tag has at most {wire.MAX_NAME_CHARS} characters.")
    if not all(map(all_seen, tags)):
        raise forms.ValidationError("A tag holds characters that cannot be seen.")
    return tags


class RunForm(forms.Form):
    """Name, tags and note of a run; `changed` is what of them is to be stored."""

    name = forms.CharField(max_length=wire.MAX_NAME_CHARS, label="Name")
    tags = forms.CharField(
        required=False, max_length=20_000, label="Tags", help_text="Several are set apart by commas.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip
    notes = forms.CharField(
        required=False, max_length=MOST_NOTE_CHARS, label="Note", help_text="Markdown, for everybody in the team.",
        widget=forms.Textarea(attrs={"rows": 6}),
    )  # fmt: skip

    def __init__(self, data: object = None, *, run: Run) -> None:
        """`run` is what is edited."""
        known = {"name": run.name, "tags": ", ".join(run.tags), "notes": run.notes}
        super().__init__(data, initial=known)  # type: ignore[arg-type]

    def clean_tags(self) -> list[str]:
        """The tags one by one."""
        return tags_in(self.cleaned_data["tags"])

    def changed(self) -> dict[str, object]:
        """What differs from before, of a valid form."""
        return {name: self.cleaned_data[name] for name in self.changed_data}
