"""What detection needs of a closed round: its spans and trainers, and the windows of rounds before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.backends.utils import CursorWrapper

from ingest.detection.facts import Baseline, History, Ints, Spans, Window, Worker
from ingest.detection.windows import TYPICAL_OF, WARMUP_STEPS, Past, first_of, size_of, windows
from ingest.models import Finding, Round, Run
from ingest.models.findings import FindingState
from ingest.queries.fixed_rows import Columns
from ingest.queries.judging_spans import begun_in, parts_of, spans_of

_WINDOWS = 20  # before the judged one
_LEAST_WINDOWS = 6
# Parts of rounds that one judgement looks back on: a thousand workers' history is shortened, not their service.
_MOST_PARTS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closed:
    """A closed round as it is to be judged; `version` is that of the data read here, `newest` its generation's rank."""

    id: int
    run: Run
    version: int
    newest: bool
    begin_ns: int
    end_ns: int
    trainers: Ints
    spans: Spans


def closed(run_id: UUID, index: int, generation: int) -> Closed | None:
    """The round with its spans; None where it is not there (any more) or has been reopened."""
    rows = Round.objects.select_related("run")
    row = rows.filter(run_id=run_id, index=index, generation=generation, closed=True).first()
    if row is None or row.end_ns is None:
        return None
    with connection.cursor() as cursor:
        parts = parts_of(cursor, [row.pk])
        spans = spans_of(cursor, run_id, parts, {row.pk: index})
    return Closed(
        id=row.pk, run=row.run, version=row.data_version, newest=not _has_newer(run_id, index, generation),
        begin_ns=row.begin_ns, end_ns=row.end_ns, trainers=np.unique(parts["lane"][parts["trainer"] == 1]), spans=spans,
    )  # fmt: skip


def window_of(run_id: UUID, index: int) -> int | None:
    """The last round of the window that round `index` is judged in; None while that window is not complete."""
    size = size_of([one.wall_s for one in _past(run_id, index, TYPICAL_OF)])
    first = first_of(index, size)
    members = _past(run_id, first + size - 1, size)
    if any(one.index >= first and not one.closed for one in members) or not members:
        return None
    return first + size - 1 if _reached(run_id, first + size - 1) else None


def newest_window(run_id: UUID) -> int | None:
    """The last round of the newest complete window of the run; None where there is none."""
    newest = Round.objects.filter(run_id=run_id, closed=True).order_by("-index").values_list("index", flat=True).first()
    if newest is None:
        return None
    whole = window_of(run_id, newest)
    if whole is not None:
        return whole
    size = size_of([one.wall_s for one in _past(run_id, newest, TYPICAL_OF)])
    before = first_of(newest, size) - 1
    return before if before >= 0 else None


def history(run_id: UUID, last: int) -> History:
    """The window that ends with round `last`, after those before it, each round in its newest closed generation."""
    size = size_of([one.wall_s for one in _past(run_id, last, TYPICAL_OF)])
    parts = max(1, _parts_of(run_id, last))
    known = max(_LEAST_WINDOWS, min(_WINDOWS, _MOST_PARTS // (parts * size)))
    warmup = max(WARMUP_STEPS, size) if size > 1 else 1
    rows = [one for one in _past(run_id, last, (known + 1) * size + warmup) if one.closed]
    with connection.cursor() as cursor:
        taken = parts_of(cursor, [one.id for one in rows])
        found = _windows(run_id, rows, taken, size)[-known - 1 :]
        indexes = {index for window in found for index in window.rounds}
        spans = spans_of(cursor, run_id, taken, {one.id: one.index for one in rows if one.index in indexes})
        members = _workers(cursor, run_id)
    return History(workers=members, windows=found, spans=spans, baselines=_baselines(run_id, members))


def _windows(run_id: UUID, rows: Sequence["_Row"], parts: Columns, size: int) -> tuple[Window, ...]:
    begun = begun_in(parts)
    older = bool(rows) and Round.objects.filter(run_id=run_id, index__lt=rows[0].index).exists()
    past = [
        Past(index=one.index, begin_ns=one.begin_ns, end_ns=one.end_ns, begun=begun[one.id])
        for one in rows
        if one.end_ns is not None
    ]
    return windows(past, size, older=older)


@dataclass(frozen=True, slots=True)
class _Row:
    id: int
    index: int
    begin_ns: int
    end_ns: int | None
    closed: bool

    @property
    def wall_s(self) -> float:
        return ((self.end_ns or self.begin_ns) - self.begin_ns) / 1e9


def _past(run_id: UUID, upto: int, count: int) -> list[_Row]:
    """The newest generation of the `count` last rounds up to `upto`, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT ON (index) id, index, begin_ns, end_ns, closed FROM ingest_round
               WHERE run_id = %s AND index <= %s ORDER BY index DESC, generation DESC LIMIT %s""",
            [run_id, upto, count],
        )
        return [_Row(*row) for row in reversed(cursor.fetchall())]


def _reached(run_id: UUID, index: int) -> bool:
    return Round.objects.filter(run_id=run_id, index__gte=index, closed=True).exists()


def _has_newer(run_id: UUID, index: int, generation: int) -> bool:
    return Round.objects.filter(run_id=run_id, index=index, generation__gt=generation).exists()


def _parts_of(run_id: UUID, index: int) -> int:
    newest = Round.objects.filter(run_id=run_id, index=index).order_by("-generation").first()
    return newest.parts.count() if newest else 0


def _workers(cursor: CursorWrapper, run_id: UUID) -> tuple[Worker, ...]:
    cursor.execute(
        """SELECT index, name, role, machine, host, coalesce("group", ''), coalesce(site, '')
           FROM ingest_worker WHERE run_id = %s ORDER BY index""",
        [run_id],
    )
    fields = ("lane", "name", "role", "machine", "host", "group", "site")
    return tuple(Worker(**dict(zip(fields, row, strict=True))) for row in cursor.fetchall())


def _baselines(run_id: UUID, members: Sequence[Worker]) -> tuple[Baseline, ...]:
    """What workers of open incidents took before: detection wrote it into their evidence."""
    lanes = {worker.name: worker.lane for worker in members}
    rows = Finding.objects.filter(run_id=run_id, kind="straggler", state=FindingState.OPEN)
    return tuple(
        Baseline(phase=row.phase, lane=lanes[slow["worker"]], seconds=slow["reference_s"])
        for row in rows
        for slow in _slow(row.evidence)
        if slow["against"] == "itself" and slow["worker"] in lanes and slow["reference_s"]
    )


def _slow(evidence: dict[str, Any]) -> list[dict[str, Any]]:
    return [slow for cohort in evidence.get("cohorts", []) for slow in cohort["slow"]]
