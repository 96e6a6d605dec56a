"""What was sampled while a phase ran: of its process, its machine and the devices that the process held."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from django.db.backends.utils import CursorWrapper

from ingest.models import Run, Stream, Worker
from ingest.queries.fixed_rows import read_columns

_HELD_DEVICE = "process_gpu_memory_bytes"
# What a reading says of the time since the reading before it.
_SINCE = frozenset(
    {"host_cpu_utilisation_ratio", "host_cpu_busiest_ratio", "cgroup_cpu_throttled_ratio", "cgroup_cpu_usage_cpus",
     "cgroup_cpu_throttled_seconds_total", "process_cpu_usage_cpus", "process_major_page_faults_per_second",
     "disk_busy_ratio", "disk_read_bytes_per_second", "disk_written_bytes_per_second",
     "network_receive_bytes_per_second", "network_transmit_bytes_per_second", "gpu_pcie_transmit_bytes_per_second",
     "gpu_pcie_receive_bytes_per_second", "gpu_nvlink_transmit_bytes_per_second",
     "gpu_nvlink_receive_bytes_per_second", "cgroup_oom_kills_total", "cgroup_memory_limit_hits_total"}
    | {f"{whose}_pressure_{what}_{how}_ratio" for whose in ("host", "cgroup") for what in ("cpu", "memory", "io")
       for how in ("waiting", "stalled")}
)  # fmt: skip
# What holds until it is told otherwise.
_HELD = frozenset(
    {"cgroup_cpu_quota_cpus", "visible_cpus", "process_threads", "host_cpus", "cgroup_memory_limit_bytes",
     "host_memory_total_bytes", "gpu_memory_total_bytes", "gpu_power_limit_watts", "gpu_sm_clock_max_hertz",
     "gpu_throttled_by_power", "gpu_throttled_by_heat", "gpu_throttled_by_board", "gpu_reachable",
     "gpu_pcie_downgraded", "network_speed_bytes_per_second"}
)  # fmt: skip
_AT = frozenset(
    {"process_memory_bytes", "cgroup_memory_bytes", "host_memory_available_bytes", _HELD_DEVICE,
     "gpu_utilisation_ratio", "gpu_memory_used_bytes", "gpu_power_watts", "gpu_temperature_celsius",
     "gpu_sm_clock_hertz", "gpu_sm_active_ratio", "gpu_sm_occupancy_ratio", "gpu_tensor_active_ratio",
     "gpu_dram_active_ratio"}
)  # fmt: skip
_METRICS = [*_SINCE, *_HELD, *_AT]
# Steady readings are told every ten seconds; whatever is older speaks of another time.
_REACH_NS = 12 * 10**9
# Of a longer phase the last hour: two seconds apart, more readings would take a second to read.
_LONGEST_NS = 3_600 * 10**9
_MOST_READINGS = 200_000
# Of a machine's own stream: what holds the shipper itself says nothing of a training.
_OF_PROCESS = ("cgroup_", "process_", "visible_cpus")


@dataclass(frozen=True, slots=True)
class Over:
    """A metric over a phase: `mean` is weighted by time, `rise` sums up what a counter rose by.

    `span_s` is the time of which the readings speak, which may be longer than the phase; `age_s` is None, or how long
    before the phase the only reading was taken.
    """

    metric: str
    unit: str
    device: str
    own: bool
    count: int
    low: float
    high: float
    mean: float
    rise: float
    span_s: float
    age_s: float | None


@dataclass(frozen=True, slots=True)
class Readings:
    """Metrics over [begin_ns, end_ns]; `held` says that only devices the process had memory on are among them."""

    begin_ns: int
    end_ns: int
    held: bool
    over: list[Over]


def readings(
    cursor: CursorWrapper, run: Run, stream: Stream, worker: Worker, *, begin_ns: int, end_ns: int
) -> Readings:
    """What explains a phase of an attempt (`stream`) on its machine, as far as it was sampled; Unix ns."""
    begin_ns = max(begin_ns, end_ns - _LONGEST_NS)
    series = _series(cursor, run, stream, worker)
    columns = read_columns(
        cursor,
        """SELECT series_id, time_ns, value FROM ingest_sample
           WHERE series_id = ANY(%s::int8[]) AND time_ns BETWEEN %s AND %s AND arrived >= %s
           ORDER BY series_id, time_ns LIMIT %s""",
        [list(series), begin_ns - _REACH_NS, end_ns + _REACH_NS, run.first_day, _MOST_READINGS],
        {"series": "int8", "time_ns": "int8", "value": "float8"},
    )
    found: list[Over] = []
    for key, (metric, unit, device, own) in series.items():
        first, last = np.searchsorted(columns["series"], [key, key + 1])
        with np.errstate(over="ignore", invalid="ignore"):
            told = over(metric, columns["time_ns"][first:last], columns["value"][first:last], begin_ns, end_ns)
        if told is not None and np.isfinite(told[1:6]).all():
            found.append(Over(metric, unit, device, own, *told))
    return Readings(begin_ns, end_ns, *_of_held_devices(found))


def _series(cursor: CursorWrapper, run: Run, stream: Stream, worker: Worker) -> dict[int, tuple[str, str, str, bool]]:
    """Series.id: (metric, unit, device, own), of the worker and of the machine that its attempt ran on."""
    cursor.execute(
        """SELECT c.id, c.metric, c.unit, c.device, s.run_id IS NOT NULL FROM ingest_series c
           JOIN ingest_stream s ON s.id = c.stream_id
           WHERE c.metric = ANY(%s) AND (
               (s.run_id = %s AND coalesce(c.worker_id, s.worker_id) = %s)
               OR (s.team_id = %s AND s.run_id IS NULL AND NOT s.deleted AND s.machine <> '' AND s.machine = %s
                   AND s.heard_at >= %s))
           ORDER BY c.id""",
        [_METRICS, run.pk, worker.pk, run.team_id, stream.machine or worker.machine, run.started_at],
    )
    rows = cursor.fetchall()
    return {key: (*rest, own) for key, *rest, own in rows if own or not rest[0].startswith(_OF_PROCESS)}


Times = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


def over(
    metric: str, times: Times, values: Values, begin_ns: int, end_ns: int
) -> tuple[int, float, float, float, float, float, float | None] | None:
    """(count, low, high, mean, rise, span_s, age_s) of a series over a phase, None where it tells nothing of it.

    Values without bound give figures without bound. `times` ascend, from before the phase until after it.
    """
    if metric in _SINCE:
        return _since(times, values, begin_ns, end_ns)
    first = int(np.searchsorted(times, begin_ns, "left"))
    last = int(np.searchsorted(times, end_ns, "right"))
    age_s = None
    known_at_begin = first < times.size and times[first] == begin_ns
    if first > 0 and not known_at_begin and (metric in _HELD or first == last):
        age_s = (begin_ns - int(times[first - 1])) / 1e9 if metric not in _HELD else None
        first -= 1
    told = values[first:last]
    if not told.size:
        return None
    from_ns = np.maximum(times[first:last], begin_ns)
    weights = np.diff(from_ns, append=end_ns).astype(np.float64)
    return (*_summed(told, weights), 0.0, (end_ns - begin_ns) / 1e9, age_s)


def _since(
    times: Times, values: Values, begin_ns: int, end_ns: int
) -> tuple[int, float, float, float, float, float, float | None] | None:
    """Of readings that each speak of the time since the one before; the first of all only if taken in the phase."""
    first = int(np.searchsorted(times, begin_ns, "right"))
    last = min(int(np.searchsorted(times, end_ns, "left")) + 1, times.size)
    if first == 0 and times.size and times[0] > end_ns:
        return None
    told = values[first:last]
    if not told.size:
        return None
    before = times[first - 1 : last - 1] if first else np.concatenate([[begin_ns], times[: last - 1]])
    weights = (np.minimum(times[first:last], end_ns) - np.maximum(before, begin_ns)).astype(np.float64)
    risen = np.diff(values[first - 1 : last] if first else told)
    span_s = float(times[last - 1] - before[0]) / 1e9
    return (*_summed(told, weights), float(np.maximum(risen, 0.0).sum()), span_s, None)


def _summed(told: Values, weights: Values) -> tuple[int, float, float, float]:
    mean = float(np.average(told, weights=weights)) if weights.sum() > 0 else float(told.mean())
    return told.size, float(told.min()), float(told.max()), mean


def _of_held_devices(found: Iterable[Over]) -> tuple[bool, list[Over]]:
    """Without the devices on which the process had no memory, as far as that is known; and whether it is."""
    everything = list(found)
    held = {each.device for each in everything if each.own and each.metric == _HELD_DEVICE}
    left = [each for each in everything if each.own or not each.metric.startswith("gpu_") or each.device in held]
    return (True, left) if held else (False, everything)
