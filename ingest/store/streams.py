"""Which stream, worker and run a batch belongs to: found, or made on its first batch, the same from many
processes.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Max
from django.utils import timezone

from ingest.models import Run, Stream, Worker
from ingest.models.runs import RunState
from ingest.models.workers import WorkerState
from ingest.store.arrivals import Arrival, Fault, Who
from ingest.store.known import Known
from ingest.store.locks import Lock, hold
from ingest.store.states import refresh_runs
from roundwatch import wire

SILENCE = dt.timedelta(hours=24)
_EARLIEST = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_SLACK = dt.timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class StreamRef:
    """A stream's row and the rows around it; a shipper's own has neither run nor worker."""

    id: int
    team_id: UUID
    run_id: UUID | None
    worker_id: int | None
    lane: int
    attempt: int
    machine: str
    began_at: dt.datetime
    deleted: bool


_known: Known[tuple[UUID, UUID], StreamRef] = Known(50_000)


def forget() -> None:
    """Forget what is known of the database; tests that empty it call this."""
    _known.clear()


def find_or_make(team_id: UUID, arrivals: Iterable[Arrival]) -> dict[UUID, StreamRef]:
    """The team's streams of these batches by uid. Raises Fault 422 where a run has no room for another
    worker.
    """
    found: dict[UUID, StreamRef] = {}
    for arrival in arrivals:
        if arrival.stream not in found:
            found[arrival.stream] = _known.get((team_id, arrival.stream)) or _look_up(team_id, arrival)
    return found


def _look_up(team_id: UUID, arrival: Arrival) -> StreamRef:
    row = _stored(team_id, arrival.stream)
    if row is None:
        row = _make_host_stream(team_id, arrival) if arrival.who.host_stream else _make(team_id, arrival)
    reference = StreamRef(
        id=row.pk,
        team_id=team_id,
        run_id=row.run_id,
        worker_id=row.worker_id,
        lane=row.worker.index if row.worker else 0,
        attempt=row.index,
        machine=row.machine,
        began_at=row.began_at,
        deleted=row.deleted,
    )
    return _known.put((team_id, arrival.stream), reference)


def _stored(team_id: UUID, uid: UUID) -> Stream | None:
    return Stream.objects.select_related("worker").filter(team_id=team_id, uid=uid).first()


def _make_host_stream(team_id: UUID, arrival: Arrival) -> Stream:
    who = arrival.who
    defaults = {"machine": who.machine, "pid": who.pid, "began_at": who.began_at, "heard_at": timezone.now()}
    return Stream.objects.get_or_create(team_id=team_id, uid=arrival.stream, defaults=defaults)[0]


@transaction.atomic
def _make(team_id: UUID, arrival: Arrival) -> Stream:
    """A worker's new stream, with whatever is new around it; one process at a time for each key of a run."""
    who = arrival.who
    hold(Lock.KEY, f"{team_id} {who.project} {who.run}")
    row = _stored(team_id, arrival.stream)
    if row is not None:
        return row
    run = _run_for(team_id, who)
    hold(Lock.CATALOGUE, run.pk)
    worker = _worker_for(run, who)
    last = Stream.objects.filter(run=run).aggregate(last=Max("index"))["last"]
    later = Stream.objects.filter(worker=worker, began_at__gt=who.began_at)
    newest = not later.exists()
    # Attempts are numbered by when they began, not by when they were heard of.
    _lock_streams(later.values_list("pk", flat=True))
    later.update(attempt=F("attempt") + 1)
    earlier = Stream.objects.filter(worker=worker, began_at__lte=who.began_at).count()
    stream = Stream.objects.create(
        team_id=team_id,
        uid=arrival.stream,
        worker=worker,
        run=run,
        index=0 if last is None else last + 1,
        attempt=earlier,
        machine=who.machine,
        pid=who.pid,
        began_at=who.began_at,
        heard_at=timezone.now(),
    )
    _introduce(worker, who, newest=newest, alive=arrival.alive, attempts=earlier + later.count() + 1)
    return stream


def _lock_streams(ids: Iterable[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM ingest_stream WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [list(ids)])


def _run_for(team_id: UUID, who: Who) -> Run:
    """The run that an attempt belongs to: the newest of its key that had begun by then.

    A key found automatically and silent for a day before the attempt began starts a run of its own.
    """
    runs = list(Run.objects.filter(team_id=team_id, project=who.project, key=who.run).order_by("-serial"))
    run = next((run for run in runs if run.started_at - _SLACK <= who.began_at), runs[-1] if runs else None)
    if run is not None and not (who.run_found and run is runs[0] and who.began_at > run.heard_at + SILENCE):
        return run
    now = timezone.now()
    sound = _EARLIEST <= who.began_at <= now + _SLACK
    return Run.objects.create(
        team_id=team_id,
        project=who.project,
        key=who.run,
        serial=runs[0].serial + 1 if runs else 0,
        name=who.run,
        state=RunState.RUNNING,
        started_at=who.began_at if sound else now,
        heard_at=now,
        first_day=now.astimezone(dt.UTC).date(),
        last_day=now.astimezone(dt.UTC).date(),
    )


def _worker_for(run: Run, who: Who) -> Worker:
    worker = Worker.objects.filter(run=run, name=who.worker).first()
    if worker is not None:
        return worker
    count = Worker.objects.filter(run=run).count()
    if count >= wire.MAX_WORKERS:
        raise Fault(422, "workers", f"A run may have {wire.MAX_WORKERS} workers.", "batches.identity.worker")
    return Worker.objects.create(run=run, index=count, name=who.worker, last_seen=timezone.now())


def _introduce(worker: Worker, who: Who, *, newest: bool, alive: bool, attempts: int) -> None:
    """Say on the worker's row who its newest attempt is; a living one brings it, and its run, back."""
    changes: dict[str, object] = {"attempt": attempts - 1, "spoken_by": None}
    if newest:
        names = ("role", "rank", "local_rank", "world_size", "group", "machine", "host", "site")
        changes |= {name: getattr(who, name) for name in names}
        if alive:
            changes |= {"state": WorkerState.RUNNING, "state_reason": "", "last_seen": timezone.now()}
    Worker.objects.filter(pk=worker.pk).update(**changes)
    refresh_runs([worker.run_id])
