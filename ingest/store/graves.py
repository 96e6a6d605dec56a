"""Attempts of deleted runs that are heard of for the first time: of a spool that was shipped late, or never before."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection
from django.utils import timezone

from ingest.models import Stream
from ingest.store.arrivals import Arrival
from ingest.store.run_keys import RunKey

# By the rule and slack of run_keys: of the newest run of its key, deleted or not, that had begun by then. While a run
# is being deleted nothing joins it, not even what has begun since. What began in the minute before a deletion may have
# begun after it, by another clock.
_DELETED = """
SELECT v.place FROM unnest(%s::int[], %s::uuid[], %s::text[], %s::text[], %s::timestamptz[])
     AS v (place, team_id, project, key, began_at)
JOIN LATERAL (
    SELECT d.started_at FROM ingest_deletion d
    WHERE d.team_id = v.team_id AND d.project = v.project AND d.key = v.key
      AND v.began_at >= d.started_at - interval '10 minutes'
      AND (d.done_at IS NULL OR v.began_at <= d.begun_at - interval '1 minute')
    ORDER BY d.started_at DESC LIMIT 1
) AS gone ON true
WHERE NOT EXISTS (
    SELECT FROM ingest_run r WHERE r.team_id = v.team_id AND r.project = v.project AND r.key = v.key
      AND r.started_at > gone.started_at AND r.started_at - interval '10 minutes' <= v.began_at)
"""


def of_deleted(attempts: Sequence[tuple[RunKey, Arrival]]) -> set[int]:
    """The places of those attempts that began in a run that was deleted since, by their keys and times."""
    if not attempts:
        return set()
    columns = [
        list(column)
        for column in zip(
            *((place, *key, arrival.who.began_at) for place, (key, arrival) in enumerate(attempts)), strict=True
        )
    ]
    with connection.cursor() as cursor:
        cursor.execute(_DELETED, columns)
        return {place for (place,) in cursor.fetchall()}


def bury(attempts: Sequence[tuple[UUID, Arrival]]) -> None:
    """Keep the streams of these attempts, by team, as those of deleted runs: whoever ships them may drop them."""
    now = timezone.now()
    Stream.objects.bulk_create(
        Stream(
            team_id=team, uid=arrival.stream, machine=arrival.who.machine, pid=arrival.who.pid,
            began_at=arrival.who.began_at, heard_at=now, deleted=True,
        )
        for team, arrival in attempts
    )  # fmt: skip
