"""Each attempt's part in a round: recorded by begin and end, or derived from phases, and put into its generation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection

from ingest.store import arrays
from ingest.store.generations import Part, PartKey, place


@dataclass(slots=True)
class Parts:
    """The parts that one transaction touches."""

    by_key: dict[PartKey, Part] = field(default_factory=dict)
    # Round.id of each, once they are saved.
    places: Mapping[PartKey, int] = field(default_factory=dict)

    def recorded(self, part: Part) -> None:
        """A begin or an end of a round: it outranks whatever was derived."""
        known = self.by_key.get(part.key)
        if known is None or known.derived:
            self.by_key[part.key] = part
        else:
            _widen(known, part)

    def derive(self, part: Part) -> None:
        """Phases of a round whose begin was not recorded, or not yet."""
        known = self.by_key.get(part.key)
        if known is None:
            self.by_key[part.key] = part
        elif known.derived:
            _widen(known, part)


def _widen(known: Part, part: Part) -> None:
    known.begin_ns = min(known.begin_ns, part.begin_ns)
    if part.end_ns is not None:
        known.end_ns = part.end_ns if known.end_ns is None else max(known.end_ns, part.end_ns)


_LOCK = "SELECT 1 FROM ingest_round WHERE id = ANY(%s::bigint[]) ORDER BY id FOR NO KEY UPDATE"
_SAVE_PARTS = """
INSERT INTO ingest_workerround AS p (round_id, stream_id, worker_id, begin_ns, end_ns, derived)
SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bool[])
ON CONFLICT (round_id, stream_id, worker_id) DO UPDATE SET
    begin_ns = CASE WHEN p.derived AND NOT excluded.derived THEN excluded.begin_ns
                    ELSE least(p.begin_ns, excluded.begin_ns) END,
    end_ns = CASE WHEN p.derived AND NOT excluded.derived THEN excluded.end_ns
                  WHEN excluded.derived AND NOT p.derived THEN p.end_ns
                  ELSE greatest(p.end_ns, excluded.end_ns) END,
    derived = p.derived AND excluded.derived
WHERE p.derived OR NOT excluded.derived
"""
# New data reopens a closed round: it closes again at once if it is still over, and is judged anew.
_TOUCH = """
UPDATE ingest_round r
SET data_version = data_version + 1,
    closed = false,
    begin_ns = least(r.begin_ns, v.begin_ns)
FROM unnest(%s::bigint[], %s::bigint[]) AS v (id, begin_ns)
WHERE r.id = v.id
"""


def save(parts: Parts) -> dict[UUID, set[int]]:
    """Store the parts, each in its generation, within the caller's transaction; returns the indexes touched by run."""
    rows = list(parts.by_key.values())
    if not rows:
        return {}
    parts.places = places = place(rows)
    begins: dict[int, int] = {}
    for part in rows:
        round_id = places[part.key]
        begins[round_id] = min(begins.get(round_id, part.begin_ns), part.begin_ns)
    ids = sorted(begins)
    names = ("stream_id", "worker_id", "begin_ns", "end_ns")
    columns = [
        arrays.numbers(places[part.key] for part in rows),
        *(arrays.numbers(getattr(part, name) for part in rows) for name in names),
        arrays.truths(part.derived for part in rows),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [arrays.numbers(ids)])
        cursor.execute(_SAVE_PARTS, columns)
        cursor.execute(_TOUCH, [arrays.numbers(ids), arrays.numbers(begins[round_id] for round_id in ids)])
    touched: dict[UUID, set[int]] = {}
    for part in rows:
        touched.setdefault(part.run_id, set()).add(part.index)
    return touched
