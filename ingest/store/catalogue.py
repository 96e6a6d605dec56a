"""The numbered entries of a run: its workers, phase names and series, made on first use."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from ingest.models import PhaseName, Run, Series, Worker
from ingest.store.arrivals import SeriesKey
from ingest.store.known import Known
from ingest.store.locks import Lock, hold
from roundwatch import wire

MAX_SERIES = 10_000  # of one stream; a metric named by a step number would otherwise fill the disk

Pair = tuple[str, int]


@dataclass(frozen=True, slots=True)
class WorkerRef:
    """A worker's row and lane."""

    id: int
    lane: int


@dataclass(frozen=True, slots=True)
class SeriesPlace:
    """A series within its stream: the worker that it speaks of (None: the machine), metric and device."""

    worker_id: int | None
    metric: str
    device: str


_names: Known[UUID, dict[Pair, int]] = Known(4_000)
_workers: Known[UUID, dict[str, WorkerRef]] = Known(4_000)
_series: Known[int, dict[SeriesPlace, int]] = Known(20_000)


def forget() -> None:
    """Forget what is known of the database; tests that empty it call this."""
    _names.clear()
    _workers.clear()
    _series.clear()


def phase_names(run_id: UUID, wanted: Iterable[Pair]) -> dict[Pair, int]:
    """The index of each (name, kind) of a run; those beyond the run's 512 are absent."""
    known = _names.get(run_id) or {}
    if any(pair not in known for pair in wanted):
        known = _names.put(run_id, _number_names(run_id, list(wanted)))
    return known


@transaction.atomic
def _number_names(run_id: UUID, wanted: Sequence[Pair]) -> dict[Pair, int]:
    hold(Lock.CATALOGUE, run_id)
    rows = PhaseName.objects.filter(run_id=run_id).values_list("name", "kind", "index")
    known = {(name, kind): index for name, kind, index in rows}
    new = [pair for pair in dict.fromkeys(wanted) if pair not in known]
    room = wire.MAX_PHASE_NAMES - len(known)
    fresh = {pair: len(known) + place for place, pair in enumerate(new[:room])}
    if Run.objects.filter(id=run_id).exists():
        PhaseName.objects.bulk_create(
            PhaseName(run_id=run_id, index=index, name=name, kind=kind) for (name, kind), index in fresh.items()
        )
    return known | fresh


def workers(run_id: UUID, wanted: Sequence[str], *, spoken_by: int) -> dict[str, WorkerRef]:
    """The workers of a run by name; new ones are spoken for by stream `spoken_by`. Beyond 4,096 they are
    absent.
    """
    known = _workers.get(run_id) or {}
    if any(name not in known for name in wanted):
        known = _workers.put(run_id, _number_workers(run_id, wanted, spoken_by))
    return known


@transaction.atomic
def _number_workers(run_id: UUID, wanted: Sequence[str], spoken_by: int) -> dict[str, WorkerRef]:
    hold(Lock.CATALOGUE, run_id)
    rows = Worker.objects.filter(run_id=run_id).values_list("name", "id", "index")
    known = {name: WorkerRef(pk, index) for name, pk, index in rows}
    new = [name for name in dict.fromkeys(wanted) if name not in known]
    if new and Run.objects.filter(id=run_id).exists():
        now = timezone.now()
        made = Worker.objects.bulk_create(
            Worker(run_id=run_id, index=len(known) + place, name=name, last_seen=now, spoken_by_id=spoken_by)
            for place, name in enumerate(new[: wire.MAX_WORKERS - len(known)])
        )
        known |= {worker.name: WorkerRef(worker.pk, worker.index) for worker in made}
    return known


def series(stream_id: int, wanted: Sequence[tuple[SeriesPlace, SeriesKey]]) -> dict[SeriesPlace, int]:
    """Series.id by place in the stream; those beyond MAX_SERIES are absent."""
    known = _series.get(stream_id) or {}
    if any(place not in known for place, _ in wanted):
        known = _series.put(stream_id, _make_series(stream_id, wanted))
    return known


def _make_series(stream_id: int, wanted: Sequence[tuple[SeriesPlace, SeriesKey]]) -> dict[SeriesPlace, int]:
    known = _stored_series(stream_id)
    new = {place: key for place, key in wanted if place not in known}
    rows = [
        Series(
            stream_id=stream_id,
            worker_id=place.worker_id,
            metric=key.metric,
            unit=key.unit,
            source=key.source,
            device=key.device,
        )
        for place, key in new.items()
    ]
    try:
        with transaction.atomic():
            Series.objects.bulk_create(rows[: MAX_SERIES - len(known)], ignore_conflicts=True)
    except IntegrityError:  # the run was deleted meanwhile; its stream's tombstone will say so
        return known
    return _stored_series(stream_id)


def _stored_series(stream_id: int) -> dict[SeriesPlace, int]:
    rows = Series.objects.filter(stream_id=stream_id).values_list("worker_id", "metric", "device", "id")
    return {SeriesPlace(worker_id, metric, device): pk for worker_id, metric, device, pk in rows}
