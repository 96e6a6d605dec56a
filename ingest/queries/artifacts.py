"""What a run saved and loaded again: phases say so by the attribute `artifact`."""

from typing import Any

from django.db import connection

from ingest.detection.facts import Kind
from ingest.models import PhaseName, Run

_LOAD = "load"
_SAVED = """
SELECT n.name, bool_or(EXISTS (
    SELECT 1 FROM ingest_phase l WHERE l.run_id = p.run_id AND l.name_index = ANY(%(loads)s)
        AND l.arrived BETWEEN %(first_day)s AND %(last_day)s
        AND l.attrs->>'artifact' = p.attrs->>'artifact' AND l.end_ns > p.begin_ns))
FROM ingest_phase p JOIN ingest_phasename n ON n.run_id = p.run_id AND n.index = p.name_index
WHERE p.run_id = %(run)s AND p.arrived BETWEEN %(first_day)s AND %(last_day)s
    AND p.round BETWEEN %(first)s AND %(last)s AND p.kind = %(persist)s AND p.attrs ? 'artifact'
GROUP BY n.name
"""


def loaded_later(run: Run, first: int, last: int) -> dict[str, bool]:
    """For each phase that saved artifacts in rounds `first` to `last` whether any of them was loaded since."""
    loads = list(PhaseName.objects.filter(run=run, name=_LOAD).values_list("index", flat=True))
    with connection.cursor() as cursor:
        given: dict[str, Any] = {
            "run": run.pk, "first": first, "last": last, "first_day": run.first_day, "last_day": run.last_day,
            "persist": int(Kind.PERSIST), "loads": loads,
        }  # fmt: skip
        cursor.execute(_SAVED, given)
        return dict(cursor.fetchall())
