"""What agents told of memory beside readings: full collections, and tracked objects that stayed."""

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from ingest.detection.memory import Collected, Kept
from ingest.models import PhaseName

_COLLECTION, _RETAINED = "gc", "retained"  # names of the agent's events
_MOST_EVENTS = 20_000
_MOST_KEPT = 8  # of a worker: by their labels, the newest each
_LONGEST = 1_000

_EVENTS = """
SELECT n.name, w.index, e.time_ns, e.attrs
FROM ingest_event e JOIN ingest_phasename n ON n.run_id = e.run_id AND n.index = e.name_index
                    JOIN ingest_worker w ON w.id = e.worker_id
WHERE e.run_id = %s AND e.time_ns BETWEEN %s AND %s AND n.name = ANY(%s) ORDER BY e.time_ns DESC LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Told:
    """Of one worker, collections oldest first."""

    collections: tuple[Collected, ...] = ()
    kept: tuple[Kept, ...] = ()


def told_between(run_id: UUID, begin_ns: int, end_ns: int) -> dict[int, Told]:
    """By lane; times are Unix nanoseconds. Of very many events the newest."""
    names = [_COLLECTION, _RETAINED]
    if not PhaseName.objects.filter(run_id=run_id, name__in=names).exists():
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, [run_id, begin_ns, end_ns, names, _MOST_EVENTS])
        rows = cursor.fetchall()
    collections: dict[int, list[Collected]] = defaultdict(list)
    kept: dict[int, dict[str, Kept]] = defaultdict(dict)
    for name, lane, time_ns, attrs in rows:
        said = _decoded(attrs)
        if name == _COLLECTION:
            collections[lane].insert(0, _collected(time_ns, said))
        elif len(kept[lane]) < _MOST_KEPT:
            one = _kept(said)
            kept[lane].setdefault(one.label, one)
    return {lane: Told(tuple(collections[lane]), tuple(kept[lane].values())) for lane in {*collections, *kept}}


def _collected(time_ns: int, said: dict[str, Any]) -> Collected:
    before, after, had, has = (
        _number(said.get(f"{what}_{when}_bytes")) for what in ("memory", "allocated") for when in ("before", "after")
    )
    freed = None if had is None or has is None else had - has
    return Collected(time_ns=time_ns, before_bytes=before, after_bytes=after, freed_bytes=freed)


def _kept(said: dict[str, Any]) -> Kept:
    rounds = _number(said.get("rounds"))
    texts = {name: str(said.get(name, ""))[:_LONGEST] for name in ("label", "type", "held_by", "path")}
    return Kept(rounds=0 if rounds is None else int(rounds), **texts)


def _number(value: Any) -> float | None:
    """Training code may write anything into an event of this name."""
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18 else None
    )


def _decoded(attrs: Any) -> dict[str, Any]:
    found = json.loads(attrs) if isinstance(attrs, str) else attrs
    return found if isinstance(found, dict) else {}
