"""What detection computed of a round, written beside it: its figures, what could be seen, and of which data."""

from collections.abc import Sequence
from dataclasses import asdict
from enum import Enum
from uuid import UUID

from django.db import connection

from ingest.detection.summary import RoundFigures
from ingest.detection.verdicts import Sight
from ingest.models import Round
from ingest.models.rounds import MOST_TRIES


def save(round_id: int, figures: RoundFigures, version: int) -> None:
    """Store a round's figures as judged from data of `version`; an older judgement never replaces a newer one."""
    Round.objects.filter(pk=round_id, verdict_version__lte=version).update(
        coverage=figures.coverage,
        gpu_waiting_share=figures.gpu_waiting_share,
        kind_seconds=figures.kind_seconds and list(figures.kind_seconds),
        verdict_version=version,
    )


def save_sights(run_id: UUID, indexes: Sequence[int], sights: Sequence[Sight]) -> None:
    """Store with the newest generation of these rounds what could be seen of each of their phases."""
    newest = Round.objects.filter(run_id=run_id, index__in=indexes).order_by("index", "-generation").distinct("index")
    Round.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).update(
        judged=[asdict(sight) for sight in sights]
    )


_BEGIN_TRY = """
UPDATE ingest_round
SET tries = CASE WHEN tried_version = data_version THEN least(tries, %s) + 1 ELSE 1 END,
    tried_version = data_version
WHERE run_id = %s AND index = %s AND generation = %s AND closed AND verdict_version <> data_version
RETURNING tries
"""


class Try(Enum):
    """Whether a judgement may begin: as one of several, as the last one, or not at all."""

    ONE = 1
    LAST = 2
    TOO_MANY = 3


def begin_try(run_id: UUID, index: int, generation: int) -> Try:
    """Count a judgement of the round's present data that begins; what has its verdict may be judged again freely.

    Called outside of the judgement's own transaction, so that it stays counted whatever becomes of that.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN_TRY, [MOST_TRIES, run_id, index, generation])
        row = cursor.fetchone()
    if row is None or row[0] < MOST_TRIES:
        return Try.ONE
    return Try.LAST if row[0] == MOST_TRIES else Try.TOO_MANY
