"""How busy the devices of each worker were in the newest windows, as far as they are sampled."""

import numpy as np
from django.db import connection

from ingest.detection.facts import Floats, History
from ingest.models import Run
from ingest.queries.fixed_rows import read_columns
from ingest.queries.live import streams_of
from ingest.queries.series_of_run import SAMPLE_TYPES, SAMPLES, SERIES

_BUSY, _HELD = "gpu_utilisation_ratio", "process_gpu_memory_bytes"
_MOST_READINGS = 200_000


def utilisation(run: Run, history: History, last: int) -> Floats | None:
    """The last so many windows by workers: mean shares from 0 to 1, NaN where nothing is known; None if nowhere.

    A worker's devices are those on which its process holds memory; where that is not read, what counts as busy on its
    machine may be another's work, and nothing is said.
    """
    windows = history.windows[-last:]
    series = _series(run) if windows else {}
    busy = {(machine, device): key for key, (_, machine, metric, device) in series.items() if metric == _BUSY}
    held: dict[int, set[int]] = {}
    for lane, machine, metric, device in series.values():
        if metric == _HELD and lane is not None and (machine, device) in busy:
            held.setdefault(lane, set()).add(busy[machine, device])
    if not held:
        return None
    before = [one.end_ns for one in history.windows[: -len(windows)]][-1:] or [windows[0].end_ns - _length_ns(history)]
    bounds = [*before, *(window.end_ns for window in windows)]
    means = _means(run, sorted({key for keys in held.values() for key in keys}), bounds)
    found = np.full((len(windows), len(history.workers)), np.nan)
    for column, worker in enumerate(history.workers):
        own = [means[key] for key in held.get(worker.lane, ()) if key in means]
        if own:
            found[:, column] = np.mean(own, axis=0)
    return found


def _length_ns(history: History) -> int:
    window = history.windows[-1]
    return round(len(window.rounds) * window.round_s * 1e9)


def _series(run: Run) -> dict[int, tuple[int | None, str, str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(SERIES, [*streams_of(run), [_BUSY, _HELD]])
        return {key: (lane, machine, metric, device) for key, lane, machine, metric, device in cursor.fetchall()}


def _means(run: Run, keys: list[int], bounds: list[int]) -> dict[int, Floats]:
    """For each series its mean in each window; `bounds` are their ends, after the begin of the first."""
    with connection.cursor() as cursor:
        limits = [keys, bounds[0], bounds[-1], run.first_day, _MOST_READINGS]
        columns = read_columns(cursor, SAMPLES, limits, SAMPLE_TYPES)
    window = np.searchsorted(np.array(bounds[1:]), columns["time_ns"], "left")
    found: dict[int, Floats] = {}
    for key in np.unique(columns["series"]).tolist():
        own = columns["series"] == key
        count = np.bincount(window[own], minlength=len(bounds) - 1)
        total = np.bincount(window[own], columns["value"][own], minlength=len(bounds) - 1)
        found[key] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found
