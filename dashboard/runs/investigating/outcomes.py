"""Whether later runs pass the check of an investigation, from what is stored of them now."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from uuid import UUID

from django.db.models import Count, F, Q, QuerySet

from dashboard.runs.comparing.figures import counted
from dashboard.runs.models import InvestigatedRun, Investigation
from dashboard.runs.models.investigations import Bound, Check, Metric
from dashboard.runs.words import percent, seconds
from dashboard.teams.names import legible
from ingest.models import Finding, Round, Run
from ingest.models.findings import Severity
from ingest.queries.comparing import analysed, rounds_of

MOST_RUNS = 24
PASSED, FAILED, NOT_KNOWN = "passed", "failed", "not known"
# An interval's check passes in a run where no more of its rounds than this fail: one in twenty is not the change's.
_FAILING = 0.05
_SHARES = (Metric.WAITING, Metric.COMM, Metric.EXPOSED)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A later run with its answer and what it follows from; `added` is the row by which somebody added it."""

    run: Run
    answer: str
    why: str
    added: InvestigatedRun | None


def later_runs(row: Investigation) -> list[tuple[Run, InvestigatedRun | None]]:
    """The newest runs that were added or have the tag, newest first; never that of the finding itself."""
    added = {one.run_id: one for one in row.added.select_related("added_by")}
    wanted = Q(pk__in=list(added))
    if row.tag:
        wanted |= Q(project=row.project, tags__contains=[row.tag], started_at__gt=row.since)
    runs = but_its_own(row, Run.objects.filter(wanted, team=row.team_id))
    return [(run, added.get(run.pk)) for run in runs.order_by("-started_at", "pk")[:MOST_RUNS]]


def but_its_own(row: Investigation, runs: QuerySet[Run]) -> QuerySet[Run]:
    """The runs without that of the finding."""
    return runs if row.run_id is None else runs.exclude(pk=row.run_id)


def outcomes(row: Investigation) -> list[Outcome]:
    """Each later run with its answer."""
    later = later_runs(row)
    runs = [run for run, _ in later]
    answers = _absent(row, runs) if row.check_by == Check.ABSENT else {run.pk: _of_rounds(row, run) for run in runs}
    return [Outcome(run, *answers[run.pk], added) for run, added in later]


def counts(found: Sequence[Outcome]) -> str:
    """ "2 passed, 1 failed"; "" for no runs."""
    number = Counter(one.answer for one in found)
    return ", ".join(f"{number[answer]} {answer}" for answer in (PASSED, FAILED, NOT_KNOWN) if number[answer])


def _absent(row: Investigation, runs: Sequence[Run]) -> dict[UUID, tuple[str, str]]:
    keys = [run.pk for run in runs]
    again = Finding.objects.filter(run__in=keys, kind=row.kind, phase=row.phase).exclude(severity=Severity.INFO)
    times = dict(again.values_list("run").annotate(times=Count("pk")))
    judged = Round.objects.filter(run__in=keys, closed=True, verdict_version=F("data_version"))
    rounds = dict(judged.values_list("run").annotate(rounds=Count("index", distinct=True)))
    return {key: _absence(times.get(key, 0), rounds.get(key, 0)) for key in keys}


def _absence(times: int, rounds: int) -> tuple[str, str]:
    if times:
        return FAILED, f"it came again, {counted(times, 'finding')}"
    if not rounds:
        return NOT_KNOWN, "none of its rounds has been judged"
    return PASSED, f"not in {counted(rounds, 'judged round')}"


def _of_rounds(row: Investigation, run: Run) -> tuple[str, str]:
    return _interval(row, run) if row.check_by == Check.INTERVAL else _metric(row, run)


def _interval(row: Investigation, run: Run) -> tuple[str, str]:
    found = [one for (name, _), one in analysed(rounds_of(run)).intervals.items() if name == row.interval]
    judged, passed = sum(one.judged for one in found), sum(one.passed for one in found)
    if not judged:
        return NOT_KNOWN, f"no round has an answer of “{legible(row.interval)}”"
    answer = PASSED if judged - passed <= _FAILING * judged else FAILED
    return answer, f"passed in {passed} of {counted(judged, 'round')}"


def _metric(row: Investigation, run: Run) -> tuple[str, str]:
    rounds = rounds_of(run)
    if row.metric in (Metric.COMM, Metric.EXPOSED):
        told = analysed(rounds)
        values = told.comm if row.metric == Metric.COMM else told.exposed
    else:
        values = rounds.seconds if row.metric == Metric.ROUND_S else rounds.waiting
    if not values or row.bound is None:
        return NOT_KNOWN, "the figure is not known of any of its rounds"
    middle = median(values)
    bound = row.bound / 100 if row.metric in _SHARES else row.bound
    passed = middle <= bound if row.side == Bound.MOST else middle >= bound
    words = percent(middle) if row.metric in _SHARES else seconds(middle)
    return PASSED if passed else FAILED, f"median {words} of {counted(len(values), 'round')}"
