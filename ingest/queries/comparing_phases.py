"""What phases of a run took, one by one, and the spans of one of its rounds, to be compared with another run's."""

from dataclasses import dataclass

import numpy as np
from django.db import connection

from ingest.detection.facts import Floats, Spans, Worker
from ingest.models import Round
from ingest.queries.comparing import RunRounds, typical
from ingest.queries.judging_spans import parts_of, spans_of, workers_of

# Distributions are of so many rounds, fewer where these have very many phases.
MOST_ROUNDS = 100
_MOST_PHASES = 20_000
_COUNT = "SELECT count(*) FROM ingest_phase WHERE run_id = %s AND round = %s AND arrived BETWEEN %s AND %s"


def phase_seconds(known: RunRounds) -> tuple[dict[str, tuple[int, Floats]], int]:
    """What each phase took, one by one, by its name with its kind: seconds; and of how many of its newest rounds."""
    if not known.ids:
        return {}, 0
    run = known.run
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [run.pk, known.indexes[-1], run.first_day, run.last_day])
        each = max(1, cursor.fetchone()[0])
        count = min(len(known.ids), max(1, min(MOST_ROUNDS, _MOST_PHASES // each)))
        index_of = dict(zip(known.ids[-count:], known.indexes[-count:], strict=True))
        spans = spans_of(cursor, run.pk, parts_of(cursor, list(index_of)), index_of)
    seconds = (spans.end_ns - spans.begin_ns) / 1e9
    found = {}
    for place in np.unique(spans.name).tolist():
        own = spans.name == place
        found[spans.names[place]] = (int(spans.kind[own].min()), seconds[own])
    return found, count


@dataclass(frozen=True, slots=True, eq=False)
class OneRound:
    """A closed round with its spans, some of which may reach beyond it, and its workers by lane."""

    row: Round
    spans: Spans
    workers: dict[int, Worker]


def one_round(known: RunRounds, index: int | None) -> OneRound | None:
    """The round of this number, or the newest that took as long as the median one does; None without any."""
    if not known.ids:
        return None
    if index is None:
        index = typical(known)
    rows = Round.objects.filter(run=known.run, index=index, closed=True, end_ns__isnull=False)
    row = rows.order_by("-generation").first()
    if row is None:
        return None
    with connection.cursor() as cursor:
        spans = spans_of(cursor, known.run.pk, parts_of(cursor, [row.pk]), {row.pk: row.index})
        workers = {worker.lane: worker for worker in workers_of(cursor, known.run.pk)}
    return OneRound(row, spans, workers)
