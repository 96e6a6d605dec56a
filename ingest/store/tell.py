"""News as frames: what viewers of a run are told after a commit."""

import time
from collections.abc import Iterable, Sequence
from typing import TypeVar
from uuid import UUID

import numpy as np
from django.db.models import Sum

from ingest.feed import deadlines, messages
from ingest.feed.events import Events, events
from ingest.feed.messages import Spans
from ingest.feed.publisher import publish
from ingest.models import PhaseName, Round, Run, Series, Stream, Worker
from ingest.models.rounds import newest_generations
from ingest.models.runs import RunState
from ingest.store.known import Known
from ingest.store.news import HostNews, News, Readings

_RUNNING_S = 2.0
Rows = TypeVar("Rows", Spans, Events)
Machine = tuple[UUID, str]  # a team, and what its agents call the machine
# What this process has told a run's viewers of already, so that lanes, names and series are described once.
_told: Known[tuple[UUID, str, int], bool] = Known(200_000)
_running: Known[Machine, tuple[float, list[UUID]]] = Known(10_000)


def tell_run(news: News) -> None:
    """Publish a run's news."""
    run = Run.objects.filter(pk=news.run_id).first()
    if run is None:
        return
    frames = [
        _meta(run, news),
        messages.spans(_joined(news.spans)) if news.spans else b"",
        events(_joined(news.events)) if news.events else b"",
        _samples(news.readings),
        messages.gaps(news.gaps),
        _steps(news),
        messages.beats(list(news.beats.values())),
    ]
    publish(news.run_id, b"".join(frames), news.numbers)
    if news.spans or news.events:
        deadlines.tell_news(news.run_id)


def by_run(hosts: Iterable[HostNews]) -> dict[UUID, list[HostNews]]:
    """News of machines for each running run that has a worker on them."""
    news = [host for host in hosts if host.series]
    runs = _runs_on({(host.team_id, host.machine) for host in news})
    found: dict[UUID, list[HostNews]] = {}
    for host in news:
        for run_id in runs[host.team_id, host.machine]:
            found.setdefault(run_id, []).append(host)
    return found


def tell_machines(run_id: UUID, hosts: Sequence[HostNews]) -> None:
    """Publish samples of machines to the feed of a run."""
    machines = {series: host.machine for host in hosts for series in host.series}
    new = _new(run_id, "series", set(machines))
    entries = [
        messages.series_entry(row, None, machines[row.pk]) for row in (Series.objects.filter(pk__in=new) if new else [])
    ]
    samples = _samples([readings for host in hosts for readings in host.readings])
    numbers = {host.stream_id: host.numbers for host in hosts if host.numbers}
    publish(run_id, messages.meta(series=entries) + samples, numbers)


def _runs_on(machines: set[Machine]) -> dict[Machine, list[UUID]]:
    """The running runs with a worker on each of teams' machines, as of at most two seconds ago."""
    now = time.monotonic()
    found = {machine: runs for machine, (at, runs) in _running.find(machines).items() if now - at < _RUNNING_S}
    asked: dict[UUID, list[str]] = {}
    for team_id, machine in machines - found.keys():
        asked.setdefault(team_id, []).append(machine)
    for team_id, names in asked.items():
        live = [RunState.RUNNING, RunState.STALE]
        rows = Worker.objects.filter(run__team_id=team_id, run__state__in=live, machine__in=names)
        there: dict[Machine, list[UUID]] = {(team_id, name): [] for name in names}
        for name, run_id in rows.values_list("machine", "run_id").distinct():
            there[team_id, name].append(run_id)
        _running.keep({machine: (now, runs) for machine, runs in there.items()})
        found |= there
    return found


def _meta(run: Run, news: News) -> bytes:
    lanes = _new(run.pk, "lane", news.lanes) | news.turned
    attempts = _new(run.pk, "attempt", news.attempts)
    names, series = _new(run.pk, "name", news.names), _new(run.pk, "series", news.series)
    about_run = news.run_changed or news.turned or bool(attempts)
    workers = Worker.objects.filter(pk__in=lanes) if lanes else []
    streams = Stream.objects.filter(pk__in=attempts).select_related("worker") if attempts else []
    counts = _counts(run) if news.counted else (None, None)
    return messages.meta(
        run=messages.run_entry(run) if about_run else None,
        # A new attempt changes its worker's machine, rank and attempt.
        lanes=[messages.lane_entry(row) for row in {*workers, *(row.worker for row in streams if row.worker)}],
        attempts=[messages.attempt_entry(row, row.worker.index) for row in streams if row.worker],
        phases=[
            messages.phase_entry(row) for row in (PhaseName.objects.filter(run=run, index__in=names) if names else [])
        ],
        series=[
            _series_entry(row)
            for row in (Series.objects.filter(pk__in=series).select_related("worker") if series else [])
        ],
        dropped=counts[0],
        rejected=counts[1],
    )


def _new(run_id: UUID, sort: str, ids: set[int]) -> set[int]:
    keys = {(run_id, sort, each): True for each in ids}
    told = _told.find(keys)
    _told.keep(keys)
    return {key[2] for key in keys if key not in told}


def _series_entry(row: Series) -> messages.Entry:
    worker = row.worker
    return messages.series_entry(row, worker.index if worker else None, worker.machine if worker else "")


def _counts(run: Run) -> tuple[int, int]:
    sums = Stream.objects.filter(run=run).aggregate(dropped=Sum("dropped_count"), rejected=Sum("rejected_count"))
    return sums["dropped"] or 0, sums["rejected"] or 0


def _steps(news: News) -> bytes:
    if not news.rounds:
        return b""
    rows = list(Round.objects.filter(run_id=news.run_id, index__in=news.rounds).order_by("index", "generation"))
    return messages.steps(rows, newest_generations(news.run_id, news.rounds))


def _samples(readings: Sequence[Readings]) -> bytes:
    if not readings:
        return b""
    return messages.samples(
        np.concatenate([each.series for each in readings]),
        np.concatenate([each.time_ns for each in readings]),
        np.concatenate([each.value for each in readings]),
    )


def _joined(several: Sequence[Rows]) -> Rows:
    if len(several) == 1:
        return several[0]
    first = several[0]
    return type(first)(*(np.concatenate([getattr(each, name) for each in several]) for name in first.__slots__))
