"""Views of the list of runs: those that everybody has, and those that a team saved under names."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.urls import reverse

from dashboard.runs.chips import address
from dashboard.runs.models import SavedView
from dashboard.runs.models.saved_views import MOST_CHARS, MOST_OF_A_TEAM
from dashboard.teams.access import Visitor, key_of, owns
from dashboard.teams.models import Team
from dashboard.teams.names import all_seen

_MOST_NAME_CHARS = 64
_EVERYBODYS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Active and recent", {}),
    ("Newest first", {"sort": "-started"}),
    ("With open findings", {"findings": "open"}),
    ("With my star", {"starred": "mine"}),
    ("Archived", {"archived": "only"}),
)


@dataclass(frozen=True, slots=True)
class View:
    """A view by its name; `key` where the one who looks may delete it, else None. `here` where it is looked at."""

    name: str
    href: str
    key: int | None
    here: bool


def listed(user: Visitor, team: Team, asked: dict[str, str]) -> list[View]:
    """All views, those of everybody first; `asked` is what the list shows now."""
    now = address(asked)
    found = [View(name, address(wanted), None, address(wanted) == now) for name, wanted in _EVERYBODYS]
    owner = owns(user, team)
    for row in SavedView.objects.filter(team=team).order_by("name"):
        href = reverse("runs") + (f"?{row.query}" if row.query else "")
        found.append(View(row.name, href, row.pk if owner or row.made_by_id == user.pk else None, href == now))
    return found


def save(user: Visitor, team: Team, name: str, asked: dict[str, str]) -> str:
    """Save a view, in place of the person's own of that name; returns why not in a sentence, "" where it is saved."""
    name = " ".join(name.split())
    if not name or len(name) > _MOST_NAME_CHARS or not all_seen(name):
        return f"A view's name has 1 to {_MOST_NAME_CHARS} characters that can be seen."
    query = address(asked).partition("?")[2]
    if len(query) > MOST_CHARS:
        return "That is too much for one view."
    theirs = SavedView.objects.filter(team=team)
    if theirs.filter(name=name, made_by_id=key_of(user)).update(query=query):
        return ""
    if theirs.count() >= MOST_OF_A_TEAM:
        return f"Your team has {MOST_OF_A_TEAM} views already. Delete one first."
    try:
        with transaction.atomic():
            SavedView.objects.create(team=team, name=name, query=query, made_by_id=key_of(user))
    except IntegrityError:
        return f"There is a view “{name}” already, which somebody else saved."
    return ""


def forget(user: Visitor, team: Team, key: str) -> str:
    """Delete a view that the person saved, or anybody's for an owner; returns its name, "" where there is none such."""
    rows = SavedView.objects.filter(team=team)
    if not owns(user, team):
        rows = rows.filter(made_by_id=key_of(user))
    row = rows.filter(pk=int(key)).first() if key.isdecimal() and len(key) < 10 else None
    return row.name if row is not None and row.delete()[0] else ""
