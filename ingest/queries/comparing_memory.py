"""What the workers of a run held at most in the rounds that it is compared by."""

from dataclasses import dataclass

from django.db import connection

from ingest.queries.comparing import RunRounds
from ingest.queries.judging_spans import workers_of
from ingest.queries.live import streams_of
from ingest.queries.peaks import OF_DEVICE, OF_PROCESS
from ingest.queries.run_rounds import MOST_ANALYSED
from ingest.queries.series_of_run import SERIES

_PEAKS = """
SELECT series_id, max(value) FROM ingest_sample
WHERE series_id = ANY(%s::int8[]) AND time_ns BETWEEN %s AND %s AND arrived >= %s GROUP BY series_id
"""
_MEMORY = {"process": OF_PROCESS, "device": OF_DEVICE}


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest reading of memory in the newest rounds, of workers of a role: bytes, and in model copies if known."""

    role: str
    of: str
    bytes_: float
    copies: float | None


def peaks(known: RunRounds) -> list[Peak]:
    """The highest readings during its newest rounds, by role, of processes and of devices."""
    if not known.ids:
        return []
    run, wanted = known.run, [metric for metrics in _MEMORY.values() for metric in metrics]
    window = known.begins_ns[-MOST_ANALYSED:][0], known.ends_ns[-1]
    with connection.cursor() as cursor:
        cursor.execute(SERIES, [*streams_of(run), wanted])
        series = {key: (lane, metric) for key, lane, _, metric, _ in cursor.fetchall() if lane is not None}
        if not series:
            return []
        cursor.execute(_PEAKS, [list(series), *window, run.first_day])
        highest = dict(cursor.fetchall())
        roles = {worker.lane: worker.role for worker in workers_of(cursor, run.pk)}
    found: dict[tuple[str, str], float] = {}
    for of, metrics in _MEMORY.items():
        for lane in {lane for lane, _ in series.values()}:
            for metric in metrics:
                own = [highest[key] for key, place in series.items() if place == (lane, metric) and key in highest]
                if own:
                    place = (roles.get(lane, ""), of)
                    found[place] = max(found.get(place, 0.0), *own)
                    break
    copy = run.model_bytes
    return [Peak(role, of, size, size / copy if copy else None) for (role, of), size in sorted(found.items())]
