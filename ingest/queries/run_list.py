"""The list of a team's runs: which of them match, a page of them, and what each row says. No query per row."""

import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from ingest.models import Finding, Run, Worker
from ingest.models.findings import FindingState, Severity
from ingest.models.runs import RunState
from roundwatch.wire import KINDS

# Figures of a row speak of this many newest rounds: more would make the list as slow as its longest run.
RECENT_ROUNDS = 40
# From this share of waiting on a figure is amber: the bound above which communication speaks against an architecture.
MUCH_WAITING = 0.30
_NEWEST_FINDINGS = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class RecentRound:
    """A closed round: wall time in seconds, the trainers' mean seconds per kind, their waiting share (0..1)."""

    index: int
    wall_s: float
    kind_seconds: tuple[float, ...] | None
    waiting_share: float | None


@dataclass(frozen=True, slots=True)
class NewestFinding:
    """The finding that a row names: an open one before a resolved one, then the newest."""

    kind: str
    phase: str
    severity: str
    observed: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of the list. `rounds` holds its newest closed rounds, oldest first."""

    run: Run
    workers: int = 0
    machines: int = 0
    rounds_begun: int = 0
    rounds: tuple[RecentRound, ...] = ()
    open_findings: int = 0
    all_findings: int = 0
    finding: NewestFinding | None = None
    flagged: frozenset[int] = frozenset()

    @property
    def rounds_done(self) -> int:
        """The number of the newest closed round, counted from 1."""
        return self.rounds[-1].index + 1 if self.rounds else 0

    @property
    def round_s(self) -> float | None:
        """Median wall time of `rounds` in seconds."""
        return statistics.median(known.wall_s for known in self.rounds) if self.rounds else None

    @property
    def waiting_share(self) -> float | None:
        """Mean waiting share of those of `rounds` where it is known, 0..1."""
        known = [each.waiting_share for each in self.rounds if each.waiting_share is not None]
        return statistics.fmean(known) if known else None

    @property
    def kind_shares(self) -> tuple[float, ...] | None:
        """Per kind, its seconds as a share of the wall time, over those of `rounds` where they are known."""
        known = [(each.kind_seconds, each.wall_s) for each in self.rounds if each.kind_seconds]
        wall = sum(wall_s for _, wall_s in known)
        if wall <= 0:
            return None
        return tuple(sum(seconds[kind] for seconds, _ in known) / wall for kind in range(len(KINDS)))


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of the list, newest run first; `after` is the cursor of the page of older runs, None on the last."""

    rows: list[RunRow]
    after: str | None


@dataclass(frozen=True, slots=True)
class Totals:
    """How many runs a team has, how many run now, and how many have an open finding."""

    runs: int
    running: int
    flagged: int


def runs_of(team_id: UUID) -> QuerySet[Run]:
    """Return all runs of a team."""
    return Run.objects.filter(team_id=team_id)


def matching(runs: QuerySet[Run], text: str) -> QuerySet[Run]:
    """Return those whose name, project or key, or a worker's or host's name, holds `text`, whatever its case."""
    workers = Worker.objects.filter(Q(name__icontains=text) | Q(host__icontains=text), run=OuterRef("pk"))
    named = Q(name__icontains=text) | Q(project__icontains=text) | Q(key__icontains=text)
    return runs.filter(named | Exists(workers))


def with_open_findings(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return those that have at least one open finding; what is only worth knowing (severity info) is none."""
    opened = Finding.objects.filter(run=OuterRef("pk"), state=FindingState.OPEN).exclude(severity=Severity.INFO)
    return runs.filter(Exists(opened))


def projects_of(team_id: UUID) -> list[str]:
    """Return the names of a team's projects, sorted."""
    return list(runs_of(team_id).order_by("project").values_list("project", flat=True).distinct())


def totals(team_id: UUID) -> Totals:
    """Count a team's runs."""
    runs = runs_of(team_id)
    return Totals(
        runs=runs.count(), running=runs.filter(state=RunState.RUNNING).count(), flagged=with_open_findings(runs).count()
    )


def page(runs: QuerySet[Run], *, after: str = "", limit: int = 50) -> Page:
    """Return up to `limit` rows, newest started first, of those older than the cursor.

    Raises ValueError for a cursor that is none.
    """
    if after:
        started_at, run_id = _position(after)
        runs = runs.filter(Q(started_at__lt=started_at) | Q(started_at=started_at, pk__gt=run_id))
    found = list(runs.order_by("-started_at", "pk")[: limit + 1])
    shown = found[:limit]
    return Page(rows=_rows(shown), after=_cursor(shown[-1]) if len(found) > limit else None)


def _cursor(run: Run) -> str:
    return f"{(run.started_at - _EPOCH) // _MICROSECOND}-{run.pk.hex}"


def _position(cursor: str) -> tuple[datetime, UUID]:
    microseconds, _, run_id = cursor.partition("-")
    try:
        return _EPOCH + int(microseconds) * _MICROSECOND, UUID(run_id)
    except OverflowError:
        raise ValueError("no such page") from None


def _rows(runs: list[Run]) -> list[RunRow]:
    keys = [run.pk for run in runs]
    workers = {key: figures for key, *figures in _select(_WORKERS, keys)}
    rounds = _grouped(_select(_ROUNDS, keys))
    findings = _grouped(_select(_FINDINGS, keys))
    return [_row(run, workers.get(run.pk, (0, 0)), rounds.get(run.pk, []), findings.get(run.pk, [])) for run in runs]


def _row(run: Run, workers: Iterable[int], rounds: list[tuple[Any, ...]], findings: list[tuple[Any, ...]]) -> RunRow:
    count, machines = workers
    all_findings, open_findings = findings[0][4:6] if findings else (0, 0)
    return RunRow(
        run=run,
        workers=count,
        machines=machines,
        rounds_begun=rounds[-1][0] + 1 if rounds else 0,
        rounds=tuple(_recent(*rest) for *rest, closed in rounds if closed),
        open_findings=open_findings,
        all_findings=all_findings,
        finding=NewestFinding(*findings[0][:4]) if findings else None,
        flagged=frozenset(index for finding in findings for index in json.loads(finding[6])),
    )


def _recent(index: int, wall_ns: int, kinds: str | None, share: float | None) -> RecentRound:
    return RecentRound(index, wall_ns / 1e9, tuple(json.loads(kinds)) if kinds else None, share)


def _grouped(rows: Iterable[tuple[Any, ...]]) -> dict[UUID, list[tuple[Any, ...]]]:
    groups: dict[UUID, list[tuple[Any, ...]]] = {}
    for key, *rest in rows:
        groups.setdefault(key, []).append(tuple(rest))
    return groups


def _select(sql: str, keys: list[UUID]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"keys": keys, "rounds": RECENT_ROUNDS, "findings": _NEWEST_FINDINGS})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


_WORKERS = """
SELECT run_id, count(*), count(DISTINCT nullif(machine, ''))
FROM ingest_worker WHERE run_id = ANY(%(keys)s) GROUP BY run_id
"""
# Walks the unique index (run, index, generation) backwards, so a long run costs no more than a short one.
_ROUNDS = """
SELECT recent.*
FROM unnest(%(keys)s::uuid[]) AS listed(id) CROSS JOIN LATERAL (
    SELECT DISTINCT ON (index) run_id, index, end_ns - begin_ns, kind_seconds, gpu_waiting_share,
           closed AND end_ns IS NOT NULL
    FROM ingest_round WHERE run_id = listed.id
    ORDER BY index DESC, generation DESC LIMIT %(rounds)s
) AS recent ORDER BY run_id, index
"""
_FINDINGS = """
SELECT newest.*
FROM unnest(%(keys)s::uuid[]) AS listed(id) CROSS JOIN LATERAL (
    SELECT run_id, kind, phase, severity, observed,
           count(*) OVER (), count(*) FILTER (WHERE state = 'open') OVER (), rounds
    FROM ingest_finding WHERE run_id = listed.id AND severity <> 'info'
    ORDER BY (state = 'open') DESC, opened_at DESC LIMIT %(findings)s
) AS newest
"""
