"""What the memory rules are given: readings, windows, collections and limits of a run, worker by worker."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
from django.db import connection

from ingest.detection.facts import Floats, History, Ints
from ingest.detection.memory import DEFAULT, Held, Span
from ingest.feed.messages import unix_ns
from ingest.models import Run, Stream
from ingest.queries import judging, judging_windows
from ingest.queries.fixed_rows import read_columns
from ingest.queries.judging_memory_spans import memory_spans
from ingest.queries.live import streams_of
from ingest.queries.memory_events import Told, told_between
from ingest.queries.series_of_run import SAMPLE_TYPES, SAMPLES, SERIES

# What is read of a worker's memory, the nearest to the training first: wider ones contain it.
_OF_PROCESS = ("process_memory_bytes", "cgroup_memory_bytes")
_OF_DEVICE = ("device_memory_allocated_bytes", "process_gpu_memory_bytes")
_LIMITS = {
    "process_memory_bytes": ("cgroup_memory_limit_bytes", "host_memory_total_bytes"),
    "cgroup_memory_bytes": ("cgroup_memory_limit_bytes", "host_memory_total_bytes"),
    **dict.fromkeys(_OF_DEVICE, ("gpu_memory_total_bytes",)),
}
_METRICS = [*_OF_PROCESS, *_OF_DEVICE, "cgroup_memory_limit_bytes", "host_memory_total_bytes", "gpu_memory_total_bytes"]
_MOST_READINGS = 400_000
_PERIOD_NS = 2 * 10**9  # of the samplers: so many readings are expected of a series
_AFTER_NS = 15 * 60 * 10**9  # after the end readings are looked for


# Of which worker (None: of a machine), on which machine, of which device.
_Place = tuple[int | None, str, str]


@dataclass(frozen=True, slots=True)
class _Read:
    """Readings of some series between two times, and which series is which."""

    series: dict[tuple[str, _Place], int]
    times: dict[int, Ints]
    values: dict[int, Floats]

    def last(self, metrics: Iterable[str], lane: int, machine: str, device: str) -> float | None:
        """The newest reading of the first of these that has any: of the worker, or of its machine."""
        for metric in metrics:
            on = device if metric.startswith("gpu_") else ""
            for place in ((lane, machine, on), (None, machine, on)):
                values = self.values.get(self.series.get((metric, place), -1))
                if values is not None and len(values):
                    return float(values[-1])
        return None


def of_windows(run: Run, history: History) -> list[Held]:
    """What each worker held over the windows of `history`; empty where nobody's memory is read."""
    spans = memory_spans(history)
    if not spans:
        return []
    until = history.windows[-1].end_ns
    begin = min(each[0].begin_ns for each in spans.values())
    return _held(run, history, spans, begin, until + 10**9, {})


def after_the_end(run_id: UUID) -> tuple[Run, list[Held]] | None:
    """What workers that have finished held in their first round, in the newest window and since; None if none has."""
    run = Run.objects.filter(pk=run_id, ended_at__isnull=False, model_bytes__isnull=False).first()
    newest = judging_windows.newest_window(run_id)
    ended = _ended(run_id)
    if run is None or newest is None or not ended:
        return None
    reach = judging_windows.reach(run_id, newest)
    reach = judging_windows.Reach(reach.size, 1, reach.rounds[-reach.size :])
    history = judging.history(run_id, reach)
    beginning = judging_windows.Reach(reach.size, 1, judging_windows.first_rounds(run_id, reach.size))
    first = judging.history(run_id, beginning)
    spans = memory_spans(history)
    known = set()
    for lane, before in memory_spans(first).items():
        now = spans.get(lane, before)
        if before[0].attempt == now[0].attempt:
            known.add(lane)
            if before[0].index < now[0].index:
                spans[lane] = (before[0], *now)
    held = _held(run, history, spans, 0, max(ended.values()) + _AFTER_NS, ended)
    return run, [replace(one, from_first=one.worker.lane in known) for one in held]


def _ended(run_id: UUID) -> dict[int, int]:
    """When the newest attempts of workers said that they had finished, by Stream.index; Unix nanoseconds."""
    rows = Stream.objects.filter(run_id=run_id, end_state="finished", ended_at__isnull=False)
    return {index: unix_ns(at) or 0 for index, at in rows.values_list("index", "ended_at")}


def _held(
    run: Run, history: History, spans: dict[int, tuple[Span, ...]], begin_ns: int, until_ns: int, ended: dict[int, int]
) -> list[Held]:
    read = _read(run, begin_ns, until_ns)
    if not read.times:
        return []
    told = told_between(run.pk, begin_ns, until_ns)
    members = {worker.lane: worker for worker in history.workers}
    found = []
    for (metric, place), key in _nearest(read, spans).items():
        lane, machine, device = place
        if lane is None:
            continue
        rounds, events = spans[lane], told.get(lane, Told())
        found.append(
            Held(
                worker=members[lane], metric=metric, device=device, times_ns=read.times[key], values=read.values[key],
                rounds=rounds, collections=events.collections, kept=events.kept, copy_bytes=run.model_bytes,
                limit_bytes=read.last(_LIMITS[metric], lane, machine, device), ended_ns=ended.get(rounds[-1].attempt),
                planned_end_ns=_planned_end(run, history), hosts=sum(one.role == "trainer" for one in history.workers),
                words=history.words,
            )
        )  # fmt: skip
    return found


def _nearest(read: _Read, spans: dict[int, tuple[Span, ...]]) -> dict[tuple[str, _Place], int]:
    """Of each worker, and each of its devices, the series that contains the least beside the training."""
    found: dict[tuple[bool, _Place], tuple[str, int]] = {}
    for metrics in (_OF_PROCESS, _OF_DEVICE):
        for metric in reversed(metrics):
            for (name, place), key in read.series.items():
                if name == metric and place[0] in spans and key in read.times:
                    found[metrics is _OF_DEVICE, place] = metric, key
    return {(metric, place): key for (_, place), (metric, key) in found.items() if metric in DEFAULT.leaking}


def _read(run: Run, begin_ns: int, until_ns: int) -> _Read:
    with connection.cursor() as cursor:
        cursor.execute(SERIES, [*streams_of(run), _METRICS])
        # A worker that has begun again has the series of each attempt: the newest counts.
        series = {(metric, (lane, machine, device)): key for key, lane, machine, metric, device in cursor.fetchall()}
        if not any(place[0] is not None for _, place in series):
            return _Read({}, {}, {})
        begin_ns = max(begin_ns, until_ns - _MOST_READINGS * _PERIOD_NS // len(series))
        limits = [list(series.values()), begin_ns, until_ns, run.first_day, _MOST_READINGS]
        columns = read_columns(cursor, SAMPLES, limits, SAMPLE_TYPES)
    keys, first = np.unique(columns["series"], return_index=True)
    times, values = np.split(columns["time_ns"], first[1:]), np.split(columns["value"], first[1:])
    return _Read(series, dict(zip(keys.tolist(), times, strict=False)), dict(zip(keys.tolist(), values, strict=False)))


def _planned_end(run: Run, history: History) -> int | None:
    if run.rounds_planned is None:
        return None
    window = history.windows[-1]
    return window.end_ns + round(max(0, run.rounds_planned - window.rounds[-1] - 1) * window.round_s * 1e9)
