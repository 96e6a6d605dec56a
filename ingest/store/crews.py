"""The workers of a run, numbered on first mention: by an attempt of their own, or by a stream that speaks for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ingest.models import Run, Worker
from ingest.store.known import Known
from ingest.store.locks import Lock, hold
from roundwatch import wire

WorkerKey = tuple[UUID, str]  # a run and a worker's name


@dataclass(frozen=True, slots=True)
class WorkerRef:
    """A worker's row and lane."""

    id: int
    lane: int


_known: Known[WorkerKey, WorkerRef] = Known(100_000)


def forget() -> None:
    """Forget what is known of the database; tests that empty it call this."""
    _known.clear()


def spoken_for(wanted: Mapping[WorkerKey, int]) -> dict[WorkerKey, WorkerRef]:
    """Workers that streams name, each with the stream (Stream.id) that speaks for it should it be new. Those
    beyond a run's 4,096 are absent.
    """
    found = _known.find(wanted)
    new: dict[UUID, dict[str, int | None]] = {}
    for (run_id, name), speaker in wanted.items():
        if (run_id, name) not in found:
            new.setdefault(run_id, {})[name] = speaker
    for run_id, speakers in new.items():
        refs = _of_run(run_id, speakers)
        found |= {(run_id, name): ref for name, ref in refs.items()}
    _known.keep(found)
    return found


@transaction.atomic
def _of_run(run_id: UUID, speakers: Mapping[str, int | None]) -> dict[str, WorkerRef]:
    hold(Lock.CATALOGUE, run_id)
    return number(run_id, speakers) if Run.objects.filter(id=run_id).exists() else {}


def number(run_id: UUID, speakers: Mapping[str, int | None]) -> dict[str, WorkerRef]:
    """The run's workers by name, new ones with who speaks for them; the caller holds the run's catalogue. Those
    beyond 4,096 are absent.
    """
    rows = Worker.objects.filter(run_id=run_id, name__in=speakers).values_list("name", "id", "index")
    known = {name: WorkerRef(pk, index) for name, pk, index in rows}
    new = [name for name in speakers if name not in known]
    if new:
        now, count = timezone.now(), Worker.objects.filter(run_id=run_id).count()
        made = Worker.objects.bulk_create(
            Worker(run_id=run_id, index=count + place, name=name, last_seen=now, spoken_by_id=speakers[name])
            for place, name in enumerate(new[: max(wire.MAX_WORKERS - count, 0)])
        )
        known |= {worker.name: WorkerRef(worker.pk, worker.index) for worker in made}
    return known
