"""The most memory that a worker of a run, and one of its devices, held so far."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from ingest.models import Run
from ingest.queries.live import streams_of
from ingest.queries.series_of_run import SERIES

# Of a worker the reading nearest to the training counts: wider ones contain it.
OF_PROCESS = ("process_memory_bytes", "cgroup_memory_bytes")
OF_DEVICE = ("device_memory_allocated_bytes", "process_gpu_memory_bytes")
_LATE_NS = 120 * 10**9  # readings of several shippers come so much after each other
_HIGHEST = """
SELECT series_id, max(value), max(time_ns) FROM ingest_sample
WHERE series_id = ANY(%s::int8[]) AND time_ns > %s AND arrived BETWEEN %s AND %s GROUP BY series_id
"""
_Place = tuple[int, str]  # of which worker (its lane), of which device


@dataclass(frozen=True, slots=True)
class Peaks:
    """Bytes, None where nothing was read; `worker` held `memory`, `sampled_ns` is the newest reading."""

    memory: float | None = None
    worker: str = ""
    device: float | None = None
    sampled_ns: int | None = None


def peaks_of(run: Run, since_ns: int | None) -> Peaks:
    """Peaks of what was read since `since_ns`, and some time before that; of all that is kept for None."""
    with connection.cursor() as cursor:
        cursor.execute(SERIES, [*streams_of(run), [*OF_PROCESS, *OF_DEVICE]])
        series = {key: (lane, metric, device) for key, lane, _, metric, device in cursor.fetchall() if lane is not None}
        if not series:
            return Peaks()
        from_ns = 0 if since_ns is None else since_ns - _LATE_NS
        cursor.execute(_HIGHEST, [list(series), from_ns, run.first_day, run.last_day])
        read = cursor.fetchall()
    nearest = _nearest(series.values())
    memory: dict[int, float] = {}
    device: dict[_Place, float] = {}
    for key, most, _ in read:
        lane, metric, place = series[key]
        if nearest[metric in OF_DEVICE, lane, place] != metric:
            continue
        if metric in OF_DEVICE:
            device[lane, place] = max(most, device.get((lane, place), 0.0))
        else:
            memory[lane] = max(most, memory.get(lane, 0.0))
    held_by = max(memory, key=memory.__getitem__, default=None)
    names = {} if held_by is None else dict(run.workers.filter(index=held_by).values_list("index", "name"))
    return Peaks(
        memory=memory.get(held_by) if held_by is not None else None,
        worker=names.get(held_by, "") if held_by is not None else "",
        device=max(device.values(), default=None),
        sampled_ns=max((newest for _, _, newest in read), default=since_ns),
    )


def _nearest(series: Iterable[tuple[int, str, str]]) -> dict[tuple[bool, int, str], str]:
    """Of each worker, and of each of its devices, which metric counts."""
    found: dict[tuple[bool, int, str], str] = {}
    order = [*OF_PROCESS, *OF_DEVICE]
    for lane, metric, place in series:
        key = metric in OF_DEVICE, lane, place
        found[key] = min(metric, found.get(key, metric), key=order.index)
    return found
