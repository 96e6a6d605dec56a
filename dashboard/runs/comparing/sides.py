"""Which runs are compared, as the URL says it: `run=` for a side of its own, `a=` to `f=` for sides of several runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, QueryDict
from django.urls import reverse

from dashboard.teams.access import Visitor, run_for
from ingest.models import Run

LETTERS = "abcdef"
MOST_RUNS = 12


@dataclass(frozen=True, slots=True)
class Side:
    """Runs that are the same thing tried again; `letter` names the side."""

    letter: str
    runs: list[Run]

    @property
    def name(self) -> str:
        """As people read it."""
        return self.letter.upper()


def sides_of(user: Visitor, query: QueryDict) -> list[Side]:
    """The sides that a URL asks for, in order, without what it asks for twice.

    Raises Http404 for a run that the person may not see, for runs of two teams, and for more than are compared.
    """
    wanted = [keys for letter in LETTERS if (keys := query.getlist(letter))]
    wanted += [[key] for key in query.getlist("run")]
    if sum(map(len, wanted)) > MOST_RUNS + len(LETTERS):
        raise Http404("too many runs")
    known: dict[UUID, Run] = {}
    sides = []
    for keys in wanted:
        fresh = [run for key in keys if (run := run_for(user, key)).pk not in known]
        own = {run.pk: run for run in fresh}
        known |= own
        if own:
            sides.append(list(own.values()))
    if len(sides) > len(LETTERS) or len(known) > MOST_RUNS or len({run.team_id for run in known.values()}) > 1:
        raise Http404("runs that are not compared")
    return [Side(letter, runs) for letter, runs in zip(LETTERS, sides, strict=False)]


def query_of(sides: Iterable[Iterable[Run]]) -> list[tuple[str, str]]:
    """The parameters that ask for these sides; short where each has one run."""
    filled = [list(runs) for runs in sides]
    filled = [runs for runs in filled if runs]
    if all(len(runs) == 1 for runs in filled):
        return [("run", str(runs[0].pk)) for runs in filled]
    return [(letter, str(run.pk)) for letter, runs in zip(LETTERS, filled, strict=False) for run in runs]


def href(sides: Iterable[Iterable[Run]], **more: str) -> str:
    """The page that compares these."""
    asked = urlencode([*query_of(sides), *more.items()])
    return reverse("compare") + (f"?{asked}" if asked else "")


def without(sides: list[Side], run: Run) -> str:
    """The page without one of the runs."""
    return href([[one for one in side.runs if one.pk != run.pk] for side in sides])


def with_(sides: list[Side], run: Run, letter: str) -> str:
    """The page with one more run, on the side of that letter; on a new one for ""."""
    more = [[*side.runs, run] if side.letter == letter else side.runs for side in sides]
    return href(more if letter else [*more, [run]])
