"""Rounds: which generation a worker's part belongs to, and when a round is over."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from ingest.store.ahead import MOST_AHEAD


@dataclass(frozen=True, slots=True)
class ClosedRound:
    """A round that has just been closed."""

    id: int
    index: int
    generation: int


@dataclass(frozen=True, slots=True)
class Closing:
    """The rounds that were closed; `waiting` where some have ended but a running worker was not heard since."""

    closed: list[ClosedRound]
    waiting: bool


# The parts that the same stream records for the same worker in later rounds. Looked for round by round (OFFSET 0
# keeps the planner to it): a round that may close has few later ones, a long run's worker has thousands of parts.
_LATER = """
    FROM ingest_round lr CROSS JOIN LATERAL (
        SELECT l.begin_ns FROM ingest_workerround l
        WHERE l.round_id = lr.id AND l.stream_id = p.stream_id AND l.worker_id = p.worker_id OFFSET 0) l
    WHERE lr.run_id = r.run_id AND lr.index > r.index
"""
# A part is over when its attempt said so, or ended, or went on to a later round, or when its worker is gone
# or has begun a newer attempt. A derived part says nothing of its own end: the stream that records it does,
# by its own end of the round.
_OVER = f"""
    (p.end_ns IS NOT NULL AND NOT p.derived)
    OR s.ended_at IS NOT NULL
    OR w.state IN ('lost', 'finished', 'failed', 'killed')
    OR EXISTS (SELECT 1 FROM ingest_stream n WHERE n.worker_id = p.worker_id AND s.worker_id = p.worker_id
               AND n.began_at > s.began_at)
    OR EXISTS (SELECT 1 {_LATER})
    OR (p.derived AND EXISTS (SELECT 1 FROM ingest_workerround o WHERE o.round_id = p.round_id
                              AND o.stream_id = p.stream_id AND NOT o.derived AND o.end_ns IS NOT NULL))
"""  # noqa: S608 - constants
_ENDED = f"""
SELECT r.id, r.data_version FROM ingest_round r
WHERE r.run_id = %(run)s AND NOT r.closed AND (%(indexes)s::int[] IS NULL OR r.index = ANY(%(indexes)s))
  AND NOT EXISTS (
    SELECT 1 FROM ingest_workerround p JOIN ingest_stream s ON s.id = p.stream_id
                                       JOIN ingest_worker w ON w.id = p.worker_id
    WHERE p.round_id = r.id AND NOT ({_OVER}))
"""  # noqa: S608 - both halves are constants
# Where a part's end is not known: the begin of its worker's next round, else the end of its last phase.
_BOUNDS = f"""
WITH part AS MATERIALIZED (
    SELECT p.round_id, p.stream_id, p.worker_id, r.index, p.begin_ns,
           coalesce(p.end_ns, (SELECT min(l.begin_ns) {_LATER})) AS end_ns
    FROM ingest_workerround p JOIN ingest_round r ON r.id = p.round_id WHERE p.round_id = ANY(%(rounds)s)
), phase AS MATERIALIZED (
    SELECT round, stream_id, max(end_ns) AS end_ns FROM ingest_phase
    WHERE run_id = %(run)s AND round = ANY(ARRAY(SELECT index FROM part WHERE end_ns IS NULL))
    GROUP BY round, stream_id
)
SELECT p.round_id, min(p.begin_ns), count(DISTINCT p.worker_id) FILTER (WHERE w.role <> 'coordinator'),
       max(coalesce(p.end_ns, h.end_ns, p.begin_ns))
FROM part p JOIN ingest_worker w ON w.id = p.worker_id
            LEFT JOIN phase h ON h.round = p.index AND h.stream_id = p.stream_id
GROUP BY p.round_id
"""  # noqa: S608 - constants
# A running worker may have begun a round of which its host has not told yet. Once it was heard at a time
# after the round's end it has nothing more to tell; without a known clock error its times say nothing.
_UNHEARD = """
SELECT min(s.opens_at_ns)
FROM ingest_worker w JOIN ingest_stream s ON s.worker_id = w.id AND s.attempt = w.attempt
WHERE w.run_id = %s AND w.state = 'running' AND s.ended_at IS NULL AND s.error_ns IS NOT NULL
"""
# The version guards against data that came between looking and closing.
_CLOSE = """
UPDATE ingest_round r
SET closed = true, begin_ns = v.begin_ns, end_ns = v.end_ns, trainers = v.trainers
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::int[])
     AS v (id, version, begin_ns, end_ns, trainers)
WHERE r.id = v.id AND r.data_version = v.version AND NOT r.closed
RETURNING r.id, r.index, r.generation
"""


def close_ended(run_id: UUID, indexes: Sequence[int] | None = None) -> list[ClosedRound]:
    """Close the run's rounds (of `indexes`, or all) that are over and return them. Safe to call at any time."""
    return close(run_id, indexes).closed


@transaction.atomic
def close(run_id: UUID, indexes: Sequence[int] | None = None) -> Closing:
    """As close_ended, and whether rounds wait only for a running worker to be heard."""
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, {"run": run_id, "indexes": None if indexes is None else list(indexes)})
        versions = dict(cursor.fetchall())
        if not versions:
            return Closing([], waiting=False)
        cursor.execute(_UNHEARD, [run_id])
        (heard_ns,) = cursor.fetchone()
        # What a clock that was set back since saw end in times to come would wait until then, and it is over.
        ahead_ns = int((timezone.now() + MOST_AHEAD).timestamp() * 1e9)
        cursor.execute(_BOUNDS, {"run": run_id, "rounds": list(versions)})
        rows = [
            (round_id, versions[round_id], begin, end, trainers)
            for round_id, begin, trainers, end in sorted(cursor.fetchall())
            if heard_ns is None or end <= heard_ns or end > ahead_ns
        ]
        closed: list[ClosedRound] = []
        if rows:
            cursor.execute(_CLOSE, [list(column) for column in zip(*rows, strict=True)])
            closed = [ClosedRound(*row) for row in cursor.fetchall()]
    return Closing(sorted(closed, key=lambda each: each.id), waiting=len(rows) < len(versions))
