"""What the analysis of one round needs: its spans, those of its neighbours where rounds overlap, and who took part."""

from dataclasses import dataclass
from uuid import UUID

import numpy as np
from django.db import connection

from ingest.detection.round_analysis import Given
from ingest.models import Analysis, Round
from ingest.queries.judging import workers_of
from ingest.queries.judging_spans import parts_of, spans_of

# Rounds whose begin and end overlap by less than this share follow each other: nobody begins at the same instant.
_OVERLAP = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Due:
    """A closed round without an analysis of its data as it is."""

    id: int
    version: int
    given: Given


def due(run_id: UUID, index: int, generation: int, *, least_s: float = 0.0) -> Due | None:
    """The round, if it is closed, lasted `least_s`, has no analysis of its present data and its phases are kept."""
    row = Round.objects.filter(run_id=run_id, index=index, generation=generation, closed=True).first()
    if row is None or row.end_ns is None or row.end_ns - row.begin_ns < least_s * 1e9:
        return None
    if Analysis.objects.filter(round=row, version=row.data_version).exists():
        return None
    rounds = {row.pk: row.index, **_overlapping(row, row.end_ns)}
    with connection.cursor() as cursor:
        parts = parts_of(cursor, list(rounds))
        spans = spans_of(cursor, run_id, parts, rounds)
        workers = workers_of(cursor, run_id)
    if not len(spans):
        return None
    own = (parts["round_id"] == row.pk) & (parts["trainer"] == 1)
    given = Given(
        index=row.index, begin_ns=row.begin_ns, end_ns=row.end_ns, trainers=np.unique(parts["lane"][own]),
        workers=workers, spans=spans,
    )  # fmt: skip
    return Due(row.pk, row.data_version, given)


def _overlapping(row: Round, end_ns: int) -> dict[int, int]:
    """The rounds before and after (Round.id: index) that go on while this one does, in their newest generation."""
    least = (end_ns - row.begin_ns) * _OVERLAP
    beside = Round.objects.filter(run_id=row.run_id, index__in=(row.index - 1, row.index + 1)).order_by("generation")
    newest = {one.index: one for one in beside}
    return {
        one.pk: one.index
        for one in newest.values()
        if min(end_ns, one.end_ns or end_ns) - max(row.begin_ns, one.begin_ns) > least
    }
