"""The list of a team's runs: which of them match, a page of them, and what each row says. No query per row."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, Exists, OuterRef, QuerySet
from django.db.models.expressions import RawSQL

from ingest.models import Finding, Run, Standing
from ingest.models.findings import FindingState, Severity
from ingest.models.runs import RunState
from ingest.queries import run_orders
from roundwatch.wire import KINDS

# Figures of a row speak of this many newest rounds: more would make the list as slow as its longest run.
RECENT_ROUNDS = 40
# From this share of waiting on a figure is amber: the bound above which communication speaks against an architecture.
MUCH_WAITING = 0.30
_NEWEST_FINDINGS = 20


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
    def standing(self) -> Standing:
        """Its sums, without figures for a run that was not summed up yet."""
        known: Standing | None = getattr(self.run, "standing", None)
        return known or Standing()

    @property
    def rounds_done(self) -> int:
        """The number of the newest closed round, counted from 1."""
        return self.rounds[-1].index + 1 if self.rounds else 0

    @property
    def round_s(self) -> float | None:
        """Median wall time in seconds, as it is sorted by; until the run is summed up, that of `rounds`."""
        if self.standing.round_s is not None or not self.rounds:
            return self.standing.round_s
        return statistics.median(known.wall_s for known in self.rounds)

    @property
    def waiting_share(self) -> float | None:
        """Median waiting share, 0..1, as it is sorted by; until the run is summed up, that of `rounds`."""
        known = [each.waiting_share for each in self.rounds if each.waiting_share is not None]
        if self.standing.waiting_share is not None or not known:
            return self.standing.waiting_share
        return statistics.median(known)

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
    """Rows of the list; `after` is the cursor of the page behind it, None on the last."""

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


def with_open_findings(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return those that have at least one open finding; what is only worth knowing (severity info) is none."""
    opened = Finding.objects.filter(run=OuterRef("pk"), state=FindingState.OPEN).exclude(severity=Severity.INFO)
    return runs.filter(Exists(opened))


def labelled(runs: QuerySet[Run], sort: str, values: Sequence[str]) -> QuerySet[Run]:
    """Return those that have all these labels of a sort: tag, machine, device, finding or person."""
    labels = [f"{sort}={value}" for value in values]
    return runs.filter(RawSQL("ingest_run.labels @> %s::text[]", [labels], BooleanField()))


def totals(team_id: UUID) -> Totals:
    """Count a team's runs, without those in the archive."""
    runs = runs_of(team_id).filter(archived_at=None)
    return Totals(
        runs=runs.count(), running=runs.filter(state=RunState.RUNNING).count(), flagged=with_open_findings(runs).count()
    )


def page(
    runs: QuerySet[Run], team_id: UUID, *, sort: str = "", after: str = "", limit: int = 50, narrowed: bool = False
) -> Page:
    """Return up to `limit` rows of these runs of a team, in the order that `sort` names (run_orders.stretches).

    `narrowed` where they are those of all that hold certain words, labels or settings.

    Raises ValueError for a cursor that is none.
    """
    listed = runs.select_related("standing")
    listed = listed.defer("config", "conditions", "notes", "machines", "crew_words")
    among = runs_of(team_id) if narrowed else None
    shown, cursor = run_orders.page(listed, run_orders.stretches(sort, team_id), after, limit, among=among)
    return Page(rows=_rows(shown), after=cursor)


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
