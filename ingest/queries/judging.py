"""What detection needs of a closed round: its spans and trainers, and the windows of rounds before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.backends.utils import CursorWrapper

from ingest.detection.facts import Baseline, History, Ints, Spans, Window, Worker
from ingest.detection.windows import Past, windows
from ingest.models import Finding, Round, Run
from ingest.models.findings import FindingState
from ingest.queries.fixed_rows import Columns
from ingest.queries.judging_spans import begun_in, parts_of, spans_of
from ingest.queries.judging_windows import Reach


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
    ranks: tuple[Worker, ...]
    spans: Spans


def closed(run_id: UUID, index: int, generation: int) -> Closed | None:
    """The round with its spans; None where it is not there (any more), has been reopened or has its verdict."""
    rows = Round.objects.select_related("run")
    row = rows.filter(run_id=run_id, index=index, generation=generation, closed=True).first()
    if row is None or row.end_ns is None or row.verdict_version == row.data_version:
        return None
    with connection.cursor() as cursor:
        parts = parts_of(cursor, [row.pk])
        spans = spans_of(cursor, run_id, parts, {row.pk: index})
        members = workers_of(cursor, run_id)
    trainers = np.unique(parts["lane"][parts["trainer"] == 1])
    return Closed(
        id=row.pk, run=row.run, version=row.data_version, newest=not _has_newer(run_id, index, generation),
        begin_ns=row.begin_ns, end_ns=row.end_ns, trainers=trainers,
        ranks=tuple(worker for worker in members if worker.lane in set(trainers.tolist())), spans=spans,
    )  # fmt: skip


def history(run_id: UUID, looked: Reach) -> History:
    """The last window of what is looked at, after those before it, each round in its newest closed generation."""
    with connection.cursor() as cursor:
        taken = parts_of(cursor, [one.id for one in looked.rounds])
        found = _windows(run_id, looked, taken)[-looked.count :]
        indexes = {index for window in found for index in window.rounds}
        spans = spans_of(cursor, run_id, taken, {one.id: one.index for one in looked.rounds if one.index in indexes})
        members = workers_of(cursor, run_id)
    return History(workers=members, windows=found, spans=spans, baselines=_baselines(run_id, members))


def _windows(run_id: UUID, looked: Reach, parts: Columns) -> tuple[Window, ...]:
    begun = begun_in(parts)
    rows = looked.rounds
    older = bool(rows) and Round.objects.filter(run_id=run_id, index__lt=rows[0].index).exists()
    past = [
        Past(index=one.index, begin_ns=one.begin_ns, end_ns=one.end_ns, begun=begun[one.id])
        for one in rows
        if one.end_ns is not None
    ]
    return windows(past, looked.size, older=older)


def _has_newer(run_id: UUID, index: int, generation: int) -> bool:
    return Round.objects.filter(run_id=run_id, index=index, generation__gt=generation).exists()


def workers_of(cursor: CursorWrapper, run_id: UUID) -> tuple[Worker, ...]:
    """The workers of the run by lane, as detection knows them."""
    cursor.execute(
        """SELECT w.index, w.name, w.role, w.machine, w.host, coalesce(w."group", ''), coalesce(w.site, ''),
                  coalesce((SELECT regexp_replace(c.facts->>'devices', '[0-9]+ x ', '', 'g')
                            FROM ingest_stream s JOIN ingest_conditions c ON c.stream_id = s.id
                            WHERE s.worker_id = w.id ORDER BY s.attempt DESC LIMIT 1), '')
           FROM ingest_worker w WHERE w.run_id = %s ORDER BY w.index""",
        [run_id],
    )
    fields = ("lane", "name", "role", "machine", "host", "group", "site", "device")
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
