"""What is known of workers while a phase ran that a verdict names, and of their peers: readings, and conditions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection
from django.db.backends.utils import CursorWrapper

from ingest.detection.causes import Facts
from ingest.detection.facts import Floats, History, Ints, Worker
from ingest.detection.verdicts import Verdict
from ingest.models import Run
from ingest.queries.fixed_rows import read_columns
from ingest.queries.live import STREAMS_OF_RUN, streams_of
from ingest.queries.live_readings import over

_HELD_DEVICE = "process_gpu_memory_bytes"
_OWN = ("cgroup_cpu_quota_cpus", "process_threads", "visible_cpus", "cgroup_cpu_throttled_ratio",
        "cgroup_pressure_cpu_waiting_ratio", "process_major_page_faults_per_second", _HELD_DEVICE)  # fmt: skip
_OF_MACHINE = ("host_pressure_cpu_waiting_ratio", "gpu_sm_clock_hertz", "gpu_sm_clock_max_hertz",
               "gpu_temperature_celsius", "gpu_pcie_downgraded")  # fmt: skip
_MOST_SLOW, _MOST_PEERS = 16, 32  # whose readings are read
_REACH_NS = 12 * 10**9  # steady readings are told every ten seconds
_LONGEST_NS = 600 * 10**9
_MOST_READINGS = 200_000

_SERIES = f"""
SELECT c.id, w.index, coalesce(nullif(t.machine, ''), w.machine), c.metric, c.device
FROM ({STREAMS_OF_RUN}) AS s JOIN ingest_stream t ON t.id = s.id JOIN ingest_series c ON c.stream_id = s.id
LEFT JOIN ingest_worker w ON w.id = coalesce(c.worker_id, t.worker_id)
WHERE (c.metric = ANY(%s) AND w.index = ANY(%s)) OR (c.metric = ANY(%s) AND w.id IS NULL AND t.machine = ANY(%s))
ORDER BY t.index
"""  # noqa: S608 - ours
_SAMPLES = """
SELECT series_id, time_ns, value FROM ingest_sample
WHERE series_id = ANY(%s::int8[]) AND time_ns BETWEEN %s AND %s AND arrived >= %s ORDER BY series_id, time_ns LIMIT %s
"""
_SAMPLE_TYPES = {"series": "int8", "time_ns": "int8", "value": "float8"}
_CONDITIONS = """
SELECT DISTINCT ON (w.index) w.index, c.facts->'cpu_quota_cpus', c.facts->'visible_cpus'
FROM ingest_conditions c JOIN ingest_stream s ON s.id = c.stream_id JOIN ingest_worker w ON w.id = s.worker_id
WHERE s.run_id = %s AND w.index = ANY(%s) ORDER BY w.index, s.attempt DESC
"""

Known = list[tuple[Worker, Facts]]
_Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Readings:
    """Series by (lane or None, machine): (metric, device), times and values."""

    found: dict[tuple[int | None, str], list[tuple[str, str, Ints, Floats]]] = field(default_factory=dict)

    def mean(
        self, metrics: Iterable[str], worker: Worker, stretch: _Stretch, devices: frozenset[str] | None = None
    ) -> float | None:
        """Over the stretch, of the first of the metrics of which anything is told; of `devices` the highest."""
        for metric in metrics:
            told = [
                summed[3]
                for place in ((worker.lane, worker.machine), (None, worker.machine))
                for name, device, times, values in self.found.get(place, ())
                if name == metric and (devices is None or device in devices)
                if (summed := over(metric, times, values, *stretch)) is not None and np.isfinite(summed[3])
            ]
            if told:
                return max(told)
        return None

    def devices(self, worker: Worker, stretch: _Stretch) -> frozenset[str]:
        """The devices on which its process held memory then."""
        return frozenset(
            device
            for metric, device, times, values in self.found.get((worker.lane, worker.machine), ())
            if metric == _HELD_DEVICE and device and (told := over(metric, times, values, *stretch)) and told[2] > 0
        )


def known(run: Run, history: History, verdict: Verdict) -> tuple[Known, Known]:
    """What is known of the named workers and of their peers, each while its own phase ran as the verdict says."""
    stretches = _stretches(history, verdict)
    members = [worker for worker in history.workers if worker.lane in stretches]
    slow = [worker for worker in members if worker.name in verdict.workers]
    roles = {worker.role for worker in slow}
    peers = [worker for worker in members if worker.name not in verdict.workers and worker.role in roles]
    asked = [*slow[:_MOST_SLOW], *peers[:: max(1, -(-len(peers) // _MOST_PEERS))]]
    if not slow:
        return [], []
    with connection.cursor() as cursor:
        readings = _read(cursor, run, asked, stretches)
        conditions = _conditions(cursor, run, asked)
    facts = {
        worker.lane: _facts(readings, worker, stretches[worker.lane], conditions.get(worker.lane, (None, None)))
        for worker in asked
    }
    return tuple(  # type: ignore[return-value]
        [(worker, facts.get(worker.lane, Facts())) for worker in those if worker.lane in facts]
        for those in (slow, peers)
    )


def _stretches(history: History, verdict: Verdict) -> dict[int, _Stretch]:
    """When each worker was in the phase, in the newest window that the verdict marks; Unix nanoseconds."""
    spans = history.spans
    newest = max((mark[3] for mark in verdict.marks), default=max(verdict.rounds, default=-1))
    rounds = next((window.rounds for window in history.windows if newest in window.rounds), ())
    if verdict.phase not in spans.names:
        return {}
    rows = np.flatnonzero((spans.name == spans.names.index(verdict.phase)) & np.isin(spans.round, rounds))
    found: dict[int, _Stretch] = {}
    columns = (column[rows].tolist() for column in (spans.lane, spans.begin_ns, spans.end_ns))
    for lane, begin_ns, end_ns in zip(*columns, strict=True):
        before = found.get(lane, (begin_ns, end_ns))
        found[lane] = (min(before[0], begin_ns), max(before[1], end_ns))
    return {lane: (max(begin, end - _LONGEST_NS), end) for lane, (begin, end) in found.items()}


def _read(cursor: CursorWrapper, run: Run, asked: Sequence[Worker], stretches: dict[int, _Stretch]) -> _Readings:
    lanes, those = [worker.lane for worker in asked], sorted({worker.machine for worker in asked if worker.machine})
    cursor.execute(_SERIES, [*streams_of(run), list(_OWN), lanes, list(_OF_MACHINE), those])
    series = {key: rest for key, *rest in cursor.fetchall()}
    readings = _Readings()
    if not series:
        return readings
    begin = min(stretches[lane][0] for lane in lanes) - _REACH_NS
    end = max(stretches[lane][1] for lane in lanes) + _REACH_NS
    limits = [list(series), max(begin, end - 2 * _LONGEST_NS), end, run.first_day, _MOST_READINGS]
    columns = read_columns(cursor, _SAMPLES, limits, _SAMPLE_TYPES)
    keys, first = np.unique(columns["series"], return_index=True)
    times, values = np.split(columns["time_ns"], first[1:]), np.split(columns["value"], first[1:])
    for key, at, value in zip(keys.tolist(), times, values, strict=False):
        lane, machine, metric, device = series[key]
        readings.found.setdefault((lane, machine), []).append((metric, device, at, value))
    return readings


def _conditions(
    cursor: CursorWrapper, run: Run, asked: Sequence[Worker]
) -> dict[int, tuple[float | None, float | None]]:
    """The CPUs that a quota grants and those that software sees, as attempts said where they began; by lane."""
    cursor.execute(_CONDITIONS, [run.pk, [worker.lane for worker in asked]])
    return {lane: (_number(quota), _number(visible)) for lane, quota, visible in cursor.fetchall()}


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _facts(readings: _Readings, worker: Worker, stretch: _Stretch, said: tuple[float | None, float | None]) -> Facts:
    def mean(*metrics: str, devices: frozenset[str] | None = None) -> float | None:
        return readings.mean(metrics, worker, stretch, devices)

    held = readings.devices(worker, stretch)
    clock, most = mean("gpu_sm_clock_hertz", devices=held), mean("gpu_sm_clock_max_hertz", devices=held)
    quota, visible = mean("cgroup_cpu_quota_cpus"), mean("visible_cpus")
    downgraded = mean("gpu_pcie_downgraded", devices=held)
    return Facts(
        quota_cores=said[0] if quota is None else quota,
        threads=mean("process_threads"),
        visible_cpus=said[1] if visible is None else visible,
        throttled=mean("cgroup_cpu_throttled_ratio"),
        pressure=mean("cgroup_pressure_cpu_waiting_ratio", "host_pressure_cpu_waiting_ratio"),
        clock=clock / most if clock is not None and most else None,
        temperature_c=mean("gpu_temperature_celsius", devices=held),
        faults=mean("process_major_page_faults_per_second"),
        downgraded=None if downgraded is None else downgraded > 0,
        device=min(held, default=None),
    )
