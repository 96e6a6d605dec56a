"""What the list is narrowed by, one chip for each, which leads to the list without it."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from dashboard.runs.filters import LISTED, STARTED, RunFilter, split
from dashboard.teams.names import legible
from ingest.detection import finding_kinds

_WORDS = {
    "since": "since {}", "until": "until {}", "starred": "with my star", "q": "“{}”", "project": "project {}",
    "state": "state {}", "findings": "findings: {}",
}  # fmt: skip
_ARCHIVED = {"only": "only archived", "too": "archived too"}


@dataclass(frozen=True, slots=True)
class Chip:
    """`says` what the list is narrowed by, `href` is the list without it."""

    says: str
    href: str


def address(asked: dict[str, str]) -> str:
    """The list as it was asked for."""
    kept = {name: value for name, value in asked.items() if value}
    return reverse("runs") + (f"?{urlencode(kept)}" if kept else "")


def chips(filters: RunFilter, asked: dict[str, str]) -> list[Chip]:
    """In the order of the form's fields; `asked` is the whole of the list's address."""
    return [
        Chip(legible(says), address(asked | {name: rest}))
        for name, value in filters.chosen().items()
        for says, rest in _parts(filters, name, value)
    ]


def _parts(filters: RunFilter, name: str, value: str) -> Iterator[tuple[str, str]]:
    """What each chip of a field says, and what of the field stays without it."""
    if name in LISTED:
        labels = split(value)
        for label in labels:
            yield f"{name} {label}", ", ".join(each for each in labels if each != label)
    elif name == "config":
        asked = filters.comparisons(value)
        for one in asked:
            yield str(one), " and ".join(str(each) for each in asked if each is not one)
        if not asked:
            yield f"config: {value[:80]}", ""
    elif name == "started":
        yield f"started within {STARTED[value]}", ""
    elif name == "archived":
        yield _ARCHIVED[value], ""
    else:
        yield _WORDS[name].format(finding_kinds.name(value) if name == "findings" else value), ""
