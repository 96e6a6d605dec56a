"""What detection computed of a round, written beside it: its figures, what could be seen, and of which data."""

import json
from collections.abc import Mapping, Sequence
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
        items=figures.items,
        verdict_version=version,
    )


def save_sights(versions: Mapping[int, int], sights: Sequence[Sight]) -> None:
    """Store with the rounds of a window (Round.id: version of the data) what could be seen of each of their phases."""
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE ingest_round r SET judged = %s::jsonb, judged_version = v.version
               FROM unnest(%s::bigint[], %s::bigint[]) AS v (id, version) WHERE r.id = v.id""",
            [json.dumps([asdict(sight) for sight in sights]), list(versions), list(versions.values())],
        )


def save_lasting(versions: Mapping[int, int]) -> None:
    """Store with all rounds that were looked back on (Round.id: version of the data) that what lasts is known of them.

    A row that is just being changed is left out: its new data has all of it judged again.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE ingest_round r SET lasting_version = v.version
               FROM (SELECT o.id, n.version FROM ingest_round o
                     JOIN unnest(%s::bigint[], %s::bigint[]) AS n (id, version) ON n.id = o.id
                     WHERE o.lasting_version <> n.version ORDER BY o.id FOR UPDATE OF o SKIP LOCKED) v
               WHERE r.id = v.id""",
            [list(versions), list(versions.values())],
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
    NEEDLESS = 4


def begin_try(run_id: UUID, index: int, generation: int) -> Try:
    """Count a judgement of the round's present data that begins; what is open, gone or has its verdict needs none.

    Called outside of the judgement's own transaction, so that it stays counted whatever becomes of that.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN_TRY, [MOST_TRIES, run_id, index, generation])
        row = cursor.fetchone()
    if row is None:
        return Try.NEEDLESS
    if row[0] < MOST_TRIES:
        return Try.ONE
    return Try.LAST if row[0] == MOST_TRIES else Try.TOO_MANY
