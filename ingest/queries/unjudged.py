"""Closed rounds whose judgement is missing or older than their data."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from ingest.models.rounds import MOST_TRIES


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A closed round whose data of `version` has no verdict yet."""

    id: int
    version: int
    run_id: UUID
    index: int
    generation: int


# The newest first, and runs in turn: a run with a thousand old rounds must not keep another's last one waiting.
_UNJUDGED = """
SELECT id, data_version, run_id, index, generation
FROM ingest_round
WHERE closed
  AND verdict_version <> data_version
  AND NOT (tried_version = data_version AND tries >= %s)
ORDER BY row_number() OVER (PARTITION BY run_id ORDER BY index DESC, generation DESC), id DESC
LIMIT %s
"""


def unjudged(limit: int) -> list[Unjudged]:
    """At most `limit` of them, but for those whose judgement was begun MOST_TRIES times in vain."""
    with connection.cursor() as cursor:
        cursor.execute(_UNJUDGED, [MOST_TRIES, limit])
        return [Unjudged(*row) for row in cursor.fetchall()]
