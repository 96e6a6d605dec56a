"""News as frames: what viewers of a run are told after a commit."""

import time
from collections.abc import Sequence
from uuid import UUID

import numpy as np
from django.db.models import Sum

from ingest.feed import messages
from ingest.feed.messages import Spans
from ingest.feed.publisher import publish
from ingest.models import PhaseName, Round, Run, Series, Stream, Worker
from ingest.models.runs import RunState
from ingest.store.known import Known
from ingest.store.news import HostNews, News, Readings
from ingest.store.parts import newest_generations

_RUNS_OF_MACHINE_S = 2.0
# What this process has told a run's viewers of already, so that lanes, names and series are described once.
_told: Known[tuple[UUID, str, int], bool] = Known(200_000)
_runs_on: Known[tuple[UUID, str], tuple[float, list[UUID]]] = Known(4_000)


def tell_run(news: News) -> None:
    """Publish a run's news."""
    run = Run.objects.filter(pk=news.run_id).first()
    if run is None:
        return
    frames = [
        _meta(run, news),
        messages.spans(_joined(news.spans)) if news.spans else b"",
        _samples(news.readings),
        messages.gaps(news.gaps),
        _steps(news),
        messages.beats(list(news.beats.values())),
    ]
    publish(news.run_id, b"".join(frames), news.numbers)


def tell_host(news: HostNews) -> None:
    """Publish a machine's samples to the feeds of the running runs that have a worker on it."""
    samples = _samples(news.readings)
    numbers = {news.stream_id: news.numbers} if news.numbers else None
    if not samples:
        return
    for run_id in runs_on(news.team_id, news.machine):
        new = _new(run_id, "series", news.series)
        series = Series.objects.filter(pk__in=new).select_related("worker") if new else []
        entries = [messages.series_entry(row, None, news.machine) for row in series]
        publish(run_id, messages.meta(series=entries) + samples, numbers)


def runs_on(team_id: UUID, machine: str) -> list[UUID]:
    """The team's running runs with a worker on a machine, as of at most two seconds ago."""
    known = _runs_on.get((team_id, machine))
    if known and time.monotonic() - known[0] < _RUNS_OF_MACHINE_S:
        return known[1]
    live = [RunState.RUNNING, RunState.STALE]
    found = Run.objects.filter(team_id=team_id, state__in=live, workers__machine=machine).distinct()
    return _runs_on.put((team_id, machine), (time.monotonic(), list(found.values_list("pk", flat=True))))[1]


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
    return {each for each in ids if _told.add((run_id, sort, each), value=True)}


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


def _joined(spans: Sequence[Spans]) -> Spans:
    if len(spans) == 1:
        return spans[0]
    return Spans(*(np.concatenate([getattr(each, name) for each in spans]) for name in Spans.__dataclass_fields__))
