"""What is given to the analysis of one round: its spans, those of rounds that overlap it, and who took part."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.db import connection

from ingest.detection.round_analysis import Given
from ingest.models import Analysis, Round
from ingest.queries import intervals, rounds, run_words
from ingest.queries.judging_spans import parts_of, spans_of, workers_of

# Phases of a round whose analysis may be made while somebody waits: some ten milliseconds of a process that serves
# others as well. Beyond it is Celery's.
MOST_AT_ONCE = 2_000
_COUNTED = """
SELECT count(*) FROM (
    SELECT 1 FROM ingest_phase p JOIN ingest_run r ON r.id = p.run_id
    WHERE r.id = %s AND p.round = %s AND p.arrived BETWEEN r.first_day AND r.last_day LIMIT %s) AS counted
"""
# Rounds that overlap by less than this share of one follow each other: workers never begin at the same instant.
_OVERLAP = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Due:
    """A closed round without an analysis of its data as it is."""

    id: int
    version: int
    given: Given


def is_long(row: Round) -> bool:
    """Whether a round has so many phases that its analysis is a task's, and nothing to wait for."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTED, [row.run_id, row.index, MOST_AT_ONCE + 1])
        return int(cursor.fetchone()[0]) > MOST_AT_ONCE


def due(run_id: UUID, index: int, generation: int) -> Due | None:
    """The round, if it is closed, has no analysis of its present data and intervals, and its phases are kept."""
    rows = Round.objects.select_related("run")
    row = rows.filter(run_id=run_id, index=index, generation=generation, closed=True).first()
    if row is None or row.end_ns is None:
        return None
    kept = Analysis.objects.filter(round=row, version=row.data_version).values_list("content__asked", flat=True)
    if intervals.asked(row.run).stamp in [stamp or "" for stamp in kept]:
        return None
    found = given(row, overlapping(row))
    return Due(row.pk, row.data_version, found) if len(found.spans) else None


def newest_analysed(run_id: UUID, count: int) -> list[Round]:
    """Those of the run's last `count` closed rounds that have an analysis of their present data, newest first."""
    return [row for row in intervals.newest_rounds(run_id, count) if rounds.analysis_of(row) is not None]


def given(row: Round, beside: Sequence[Round]) -> Given:
    """A closed round with its spans and those of the rounds beside it."""
    rounds = {one.pk: one.index for one in (row, *beside)}
    asked = intervals.asked(row.run)
    with connection.cursor() as cursor:
        parts = parts_of(cursor, list(rounds))
        spans = spans_of(cursor, row.run_id, parts, rounds)
        workers = workers_of(cursor, row.run_id)
    own = (parts["round_id"] == row.pk) & (parts["trainer"] == 1)
    return Given(
        index=row.index, begin_ns=row.begin_ns, end_ns=row.end_ns or row.begin_ns,
        trainers=np.unique(parts["lane"][own]), workers=workers, spans=spans,
        events=intervals.events_of(row.run_id, [row], asked.events), intervals=asked.intervals, asked=asked.stamp,
        words=run_words.of_run(row.run_id),
    )  # fmt: skip


def overlapping(row: Round) -> list[Round]:
    """The rounds before and after a closed one that go on while it does, in their newest generation."""
    end_ns = row.end_ns or row.begin_ns
    least = (end_ns - row.begin_ns) * _OVERLAP
    beside = Round.objects.filter(run_id=row.run_id, index__in=(row.index - 1, row.index + 1)).order_by("generation")
    newest = {one.index: one for one in beside}
    return [
        one for one in newest.values() if min(end_ns, one.end_ns or end_ns) - max(row.begin_ns, one.begin_ns) > least
    ]
