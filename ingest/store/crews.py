"""The workers of a run, numbered on first mention: by an attempt of their own, or by a stream that speaks for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from ingest.models import Run, Worker
from ingest.store import standings
from ingest.store.known import Known
from ingest.store.locks import Lock, hold_all
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
    if new:
        found |= _of_runs(new)
    _known.keep(found)
    return found


@transaction.atomic
def _of_runs(wanted: Mapping[UUID, Mapping[str, int | None]]) -> dict[WorkerKey, WorkerRef]:
    hold_all(Lock.CATALOGUE, wanted)
    there = set(Run.objects.filter(id__in=wanted).values_list("id", flat=True))
    standings.note(there, crew=True)
    return number({run_id: speakers for run_id, speakers in wanted.items() if run_id in there})


_FIND = """
SELECT w.run_id, w.name, w.id, w.index FROM unnest(%s::uuid[], %s::text[]) AS v (run_id, name)
JOIN ingest_worker w USING (run_id, name)
"""


def number(wanted: Mapping[UUID, Mapping[str, int | None]]) -> dict[WorkerKey, WorkerRef]:
    """Runs' workers by name, new ones with who speaks for them; the caller holds the runs' catalogues. Those
    beyond a run's 4,096 are absent.
    """
    keys = [(run_id, name) for run_id, speakers in wanted.items() for name in speakers]
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [[run_id for run_id, _ in keys], [name for _, name in keys]])
        known = {(run_id, name): WorkerRef(pk, index) for run_id, name, pk, index in cursor.fetchall()}
    new = [key for key in keys if key not in known]
    if new:
        known |= {(each.run_id, each.name): WorkerRef(each.pk, each.index) for each in _add(new, wanted)}
    return known


def _add(new: Sequence[WorkerKey], wanted: Mapping[UUID, Mapping[str, int | None]]) -> list[Worker]:
    workers = Worker.objects.filter(run__in={run_id for run_id, _ in new})
    count = dict(workers.values_list("run").annotate(count=Count("id")).order_by())
    now, made = timezone.now(), []
    for run_id, name in new:
        index = count.get(run_id, 0)
        if index < wire.MAX_WORKERS:
            made.append(Worker(run_id=run_id, index=index, name=name, last_seen=now, spoken_by_id=wanted[run_id][name]))
            count[run_id] = index + 1
    return Worker.objects.bulk_create(made)
