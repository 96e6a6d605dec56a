"""What detection needs of a closed round: its spans and trainers, and the windows of rounds before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from ingest.detection.facts import Baseline, History, Window, Worker
from ingest.detection.round_analysis import Given
from ingest.detection.windows import Past, windows
from ingest.models import Finding, Round, Run
from ingest.models.findings import FindingState
from ingest.queries import run_words
from ingest.queries.analysing import given, overlapping
from ingest.queries.fixed_rows import Columns
from ingest.queries.judging_spans import begun_in, parts_of, spans_of, workers_of
from ingest.queries.judging_windows import Reach


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closed:
    """A closed round as it is to be judged; `version` is that of the data read here, `newest` its generation's rank.

    `before` are the closed rounds (index, generation) that it overlaps and that began earlier: what was concluded of
    them did not know of this one.
    """

    id: int
    run: Run
    version: int
    newest: bool
    given: Given
    before: tuple[tuple[int, int], ...]


def closed(run_id: UUID, index: int, generation: int, *, again: bool = False) -> Closed | None:
    """The round with its spans; None where it is not there (any more), has been reopened or has its verdict.

    `again` asks for one that has its verdict.
    """
    rows = Round.objects.select_related("run")
    row = rows.filter(run_id=run_id, index=index, generation=generation, closed=True).first()
    if row is None or row.end_ns is None or (row.verdict_version == row.data_version) is not again:
        return None
    beside = overlapping(row)
    return Closed(
        id=row.pk, run=row.run, version=row.data_version, newest=not _has_newer(run_id, index, generation),
        given=given(row, beside),
        before=tuple((one.index, one.generation) for one in beside if one.index < index and one.closed),
    )  # fmt: skip


def history(run_id: UUID, looked: Reach) -> History:
    """The last window of what is looked at, after those before it, each round in its newest closed generation."""
    with connection.cursor() as cursor:
        taken = parts_of(cursor, [one.id for one in looked.rounds])
        found = _windows(run_id, looked, taken)[-looked.count :]
        indexes = {index for window in found for index in window.rounds}
        spans = spans_of(cursor, run_id, taken, {one.id: one.index for one in looked.rounds if one.index in indexes})
        members = workers_of(cursor, run_id)
    return History(
        workers=members, windows=found, spans=spans, baselines=_baselines(run_id, members),
        words=run_words.of_run(run_id),
    )  # fmt: skip


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
