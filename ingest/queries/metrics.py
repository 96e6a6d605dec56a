"""Numbers over time of a run: which metrics it has, and what was read of one, line by line, bounded."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from django.db import connection

from ingest.models import Run
from ingest.queries.fixed_rows import read_columns
from ingest.queries.live import STREAMS_OF_RUN, Window, streams_of, while_it_ran

MOST_LINES = 24
# Of all lines of a metric together: what a second is enough to read.
MOST_READINGS = 240_000
_KNOWN = f"""
SELECT c.metric, max(c.unit), bool_or(c.source = 'training') FROM ({STREAMS_OF_RUN}) AS s
JOIN ingest_series c ON c.stream_id = s.id GROUP BY c.metric ORDER BY 3 DESC, 1
"""  # noqa: S608 - ours
_SERIES = f"""
SELECT c.id, s.own, coalesce(w.name, ''), coalesce(h.host, nullif(t.machine, ''), w.machine, ''), c.device, c.unit
FROM ({STREAMS_OF_RUN}) AS s JOIN ingest_stream t ON t.id = s.id JOIN ingest_series c ON c.stream_id = s.id
LEFT JOIN ingest_worker w ON w.id = coalesce(c.worker_id, t.worker_id)
LEFT JOIN LATERAL (
    SELECT min(index) AS index, min(host) FILTER (WHERE host <> '') AS host, array_agg(name) AS names
    FROM ingest_worker o WHERE o.run_id = %s AND o.machine = t.machine AND t.machine <> '' AND w.id IS NULL
) AS h ON true
WHERE c.metric = %s AND (%s::text[] IS NULL OR w.name = ANY(%s) OR (w.id IS NULL AND h.names && %s))
ORDER BY coalesce(w.index, h.index), c.device, t.index
"""  # noqa: S608 - ours
_READ = """
SELECT chosen.id, read.time_ns, read.round, read.value
FROM unnest(%s::int8[], %s::int8[], %s::int8[]) AS chosen (id, begin_ns, end_ns) CROSS JOIN LATERAL (
    SELECT time_ns, round, value FROM ingest_sample
    WHERE series_id = chosen.id AND time_ns BETWEEN chosen.begin_ns AND chosen.end_ns AND arrived >= %s
    ORDER BY time_ns DESC LIMIT %s) AS read
"""
_TYPES = {"series": "int8", "time_ns": "int8", "round": "int4", "value": "float8"}
_EVER = Window(0, (1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's name and unit; `logged` says that the training gave it (run.log), not a sampler."""

    name: str
    unit: str
    logged: bool


@dataclass(slots=True, eq=False)
class Line:
    """Readings of one worker, or of a machine by itself, and of one of its devices; by time, over all attempts.

    `worker` is "" for a machine's own. `time_ns` is Unix nanoseconds, `round` -1 where it was read in none; values
    without bound stay what they are.
    """

    worker: str
    host: str
    device: str
    unit: str
    series: dict[int, bool] = field(default_factory=dict)
    time_ns: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    round: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    value: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class Lines:
    """`more` lines were left out; `cut` says that of some of these only the newest readings were read."""

    lines: list[Line]
    more: int
    cut: bool


def known(run: Run) -> list[Metric]:
    """All metrics of the run's workers and their machines, those that the training logged first."""
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN, streams_of(run))
        return [Metric(*row) for row in cursor.fetchall()]


def lines(run: Run, metric: str, workers: Collection[str]) -> Lines:
    """What was read of a metric, of these workers and their machines, or of all; the first lines."""
    named = sorted(workers) or None
    with connection.cursor() as cursor:
        cursor.execute(_SERIES, [*streams_of(run), run.pk, metric, named, named, named])
        found: dict[tuple[str, str, str], Line] = {}
        for key, own, worker, host, device, unit in cursor.fetchall():
            line = found.setdefault((worker, "" if worker else host, device), Line(worker, host, device, unit))
            line.series[key] = own
        shown = list(found.values())[:MOST_LINES]
        cut = _read(run, shown)
    return Lines(shown, len(found) - len(shown), cut)


def _read(run: Run, shown: Sequence[Line]) -> bool:
    series = {key: own for line in shown for key, own in line.series.items()}
    if not series:
        return False
    ran = while_it_ran(run, _EVER)
    begin = [0 if own else ran.from_ns for own in series.values()]
    end = [_EVER.to_ns if own else ran.to_ns for own in series.values()]
    most = max(1, MOST_READINGS // len(series))
    with connection.cursor() as cursor:
        read = read_columns(cursor, _READ, [list(series), begin, end, run.first_day, most], _TYPES)
    for line in shown:
        mine = np.flatnonzero(np.isin(read["series"], list(line.series)))
        mine = mine[np.argsort(read["time_ns"][mine], kind="stable")]
        line.time_ns, line.value = read["time_ns"][mine], read["value"][mine]
        line.round = read["round"][mine].astype(np.int64)
    return bool(len(read["series"])) and int(np.unique(read["series"], return_counts=True)[1].max()) >= most
