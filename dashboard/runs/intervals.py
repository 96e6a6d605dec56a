"""The tab Intervals of a run: what is measured between which boundaries, its checks, and how the last rounds did."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.runs.interval_form import IntervalForm, forget
from dashboard.runs.words import seconds
from dashboard.teams.access import may_change, run_for
from dashboard.teams.audit import audit
from dashboard.teams.models import Area
from dashboard.teams.sign_in import signed_in
from ingest.detection.named_intervals import USUAL
from ingest.detection.windows import FILLS_S
from ingest.detection.wording import Words
from ingest.models import Interval, Round, Run
from ingest.queries import intervals as queries
from ingest.queries import rounds, run_words

_ROUNDS = 10
_Told = dict[str, dict[str, Any]]  # what an analysis says of intervals, by name


@dataclass(frozen=True, slots=True)
class Cell:
    """An interval in a round: what it took, "passed", "failed" or "" without an answer, and `why` it has none."""

    text: str
    answer: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """An interval with its cells, newest round first; `row` is what somebody defined, None of what always is."""

    name: str
    between: str
    most_s: float | None
    row: Interval | None
    hidden: bool
    cells: list[Cell]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def intervals(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """List a run's intervals; asked by the page itself, only their table. A POST defines one."""
    run = run_for(request.user, run_id)
    allowed = may_change(request.user, run.team)
    form = IntervalForm(run=run)
    if request.method == "POST":
        if not allowed:
            raise PermissionDenied
        form = IntervalForm(request.POST, run=run)
        if stored := form.stored():
            audit(request, run.team, Area.INTERVAL, f"defined the interval “{stored}” of {run.project}")
            messages.success(request, f"“{stored}” is measured from now on, {_earlier(stored, run)}")
            return redirect("intervals", run.pk)
    # Before the rounds: what is measured meanwhile is then shown, or asked for once more.
    due = queries.is_due(run.pk)
    newest, words = queries.newest_rounds(run.pk, _ROUNDS), run_words.of_run(run.pk)
    found = lines(run, newest, words, computing=due is True)
    table = {
        "run": run, "rounds": newest, "lines": found, "words": words, "computing": due is True,
        "failed": due is False, "fills_s": FILLS_S,
        "short": any(_is_short(row) and rounds.analysis_of(row) is None for row in newest),
    }  # fmt: skip
    return _answered(request, table, _context(run, form, allowed=allowed))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def interval(request: HttpRequest, run_id: UUID, interval_id: int) -> HttpResponse:
    """Show a definition; a POST changes or deletes it."""
    run = run_for(request.user, run_id)
    row = queries.defined_one(run, interval_id)
    if row is None:
        raise Http404("no such interval")
    allowed = may_change(request.user, run.team)
    form = IntervalForm(instance=row, run=run)
    if request.method == "POST":
        if not allowed:
            raise PermissionDenied
        if request.POST.get("do") == "delete":
            forget(row, run)
            audit(request, run.team, Area.INTERVAL, f"deleted the interval “{row}” of {run.project}")
            messages.success(request, f"“{row}” is measured no more.")
            return redirect("intervals", run.pk)
        form = IntervalForm(request.POST, instance=row, run=run)
        if stored := form.stored():
            audit(request, run.team, Area.INTERVAL, f"changed the interval “{stored}” of {run.project}")
            messages.success(request, f"“{stored}” is changed: it is measured so from now on, {_earlier(stored, run)}")
            return redirect("intervals", run.pk)
    return render(request, "runs/interval.html", _context(run, form, allowed=allowed) | {"row": row})


def _answered(request: HttpRequest, table: dict[str, Any], page: dict[str, Any]) -> HttpResponse:
    """The page, or to its own question the table alone, 204 while that is as it was."""
    part = render_to_string("runs/intervals_table.html", table, request)
    version = sha256(part.encode()).hexdigest()[:16]
    polled = {"part": part, "version": version, "url": request.path, "settled": not table["computing"]}
    if not request.htmx or request.method == "POST":  # type: ignore[attr-defined]
        return render(request, "runs/intervals.html", page | table | polled)
    if table["computing"] and request.GET.get("seen") == version:
        return HttpResponse(status=204)
    return render(request, "shell/polled.html", polled | {"id": "intervals"})


def _earlier(row: Interval, run: Run) -> str:
    word = run_words.of_run(run.pk).round
    anew = f" Its check is judged anew over the newest window of {word}s and up to twenty before it."
    return f"and in earlier {word}s when they are opened." + ("" if row.most_s is None else anew)


def lines(run: Run, newest: Sequence[Round], words: Words, *, computing: bool) -> list[Line]:
    """What is defined, the run's own before its project's, and what is measured anyway, with what rounds took.

    `computing` says that rounds that had been analysed are about to be once more, as their intervals are asked for now.
    """
    stamp = queries.asked(run).stamp
    told = [_told(row, stamp) or _lacks(row, words, computing=computing) for row in newest]
    rows = sorted(queries.defined(run), key=lambda row: (row.run_id is None, row.name))
    own = {row.name for row in rows if row.run_id is not None}
    found = [
        Line(row.name, _between(row.asked), row.most_s, row, hidden := row.run_id is None and row.name in own,
             [] if hidden else _cells(row.name, told, words))
        for row in rows
    ]  # fmt: skip
    known = {row.name for row in rows}
    usual = [one for one in USUAL if one.name not in known]
    return found + [Line(one.name, str(one), None, None, False, _cells(one.name, told, words)) for one in usual]


def _between(asked: Any) -> str:
    return f"{asked.begin[0]} to {asked.end[0]}"


def _told(row: Round, stamp: str) -> _Told | None:
    found = rounds.asked_analysis_of(row, stamp)
    return None if found is None else {one["name"]: one for one in found["intervals"]}


def _lacks(row: Round, words: Words, *, computing: bool) -> str:
    """Why a round has no figures as they are asked for now."""
    if row.verdict_version != row.data_version:
        return "being judged"
    if computing and rounds.analysis_of(row) is not None:
        return "being measured"
    if _is_short(row):
        return f"a {words.round} this short is measured by itself when it is opened in the timeline"
    return f"not measured as it is asked for now: that is done when the {words.round} is opened in the timeline"


def _is_short(row: Round) -> bool:
    """Whether it is judged with others, in one window, and so not measured by itself at once."""
    return row.end_ns is not None and row.end_ns - row.begin_ns < FILLS_S * 1e9


def _cells(name: str, told: Sequence[_Told | str], words: Words) -> list[Cell]:
    return [_cell(name, each, words) for each in told]


def _cell(name: str, told: _Told | str, words: Words) -> Cell:
    if isinstance(told, str):
        return Cell("…" if told.startswith("being") else "–", why=told)
    one = told.get(name)
    if one is None:
        return Cell("–", why=f"the {words.round} lacks one of its boundaries")
    if one["abstained"]:
        return Cell("–", why=one["abstained"])
    answer = {True: "passed", False: "failed", None: ""}[one["passed"]]
    unsure = one["most_s"] is not None and one["passed"] is None
    return Cell(seconds((one["end_ns"] - one["begin_ns"]) / 1e9), answer, "within the clocks’ error" if unsure else "")


def _context(run: Run, form: IntervalForm, *, allowed: bool) -> dict[str, Any]:
    return {"run": run, "form": form, "allowed": allowed, "names": queries.names_of(run)}
