"""What of a run's rounds, other than computing, takes most of their critical path."""

import json
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import connection

_MOST_PATHS = 10  # of a run's newest analysed rounds: a path may have 500 segments
_PATHS = """
WITH listed AS (SELECT * FROM unnest(%s::uuid[], %s::bigint[]) AS v (run_id, round_id)),
known AS (
    SELECT run_id, content FROM (
        SELECT l.run_id, a.content, row_number() OVER (PARTITION BY l.run_id ORDER BY a.round_id DESC) AS place
        FROM listed l JOIN ingest_analysis a ON a.round_id = l.round_id
    ) AS those WHERE place <= %s
),
whole AS (
    SELECT run_id, sum((content ->> 'end_ns')::numeric - (content ->> 'begin_ns')::numeric) AS ns
    FROM known GROUP BY run_id
)
SELECT DISTINCT ON (run_id) run_id, left(phase, 128), (parts.ns / nullif(whole.ns, 0))::float8
FROM (
    SELECT run_id, part ->> 'phase' AS phase, sum((part ->> 'end_ns')::numeric - (part ->> 'begin_ns')::numeric) AS ns
    FROM known CROSS JOIN LATERAL jsonb_array_elements(content -> 'path') AS part
    WHERE part ->> 'kind' <> 'compute' AND part ->> 'gap' = 'false' GROUP BY 1, 2
) AS parts JOIN whole USING (run_id)
ORDER BY run_id, parts.ns DESC, phase
"""


def of_paths(rounds: Mapping[UUID, Sequence[int]]) -> dict[UUID, tuple[str, float | None]]:
    """By run the phase that takes most of the critical paths of these rounds (Round.id), and its share of them."""
    pairs = [(run_id, round_id) for run_id, ids in rounds.items() for round_id in ids]
    if not pairs:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_PATHS, [[run_id for run_id, _ in pairs], [round_id for _, round_id in pairs], _MOST_PATHS])
        return {run_id: (phase, share) for run_id, phase, share in cursor.fetchall()}


def of_kinds(seconds: Sequence[str], wall_s: float, kinds: Sequence[str]) -> tuple[str, float | None]:
    """The kind of phase that takes most of the trainers' mean time, where no path is known; its share of `wall_s`.

    `seconds` are rounds' kind_seconds as JSON, in the order of `kinds`.
    """
    sums = dict.fromkeys(kinds, 0.0)
    for one in seconds:
        for kind, value in zip(kinds, json.loads(one), strict=False):
            sums[kind] += value
    others = {kind: value for kind, value in sums.items() if kind != "compute"}
    kind = max(others, key=lambda each: others[each], default="")
    if wall_s <= 0 or not kind or others[kind] <= 0:
        return "", None
    return kind, min(1.0, others[kind] / wall_s)
