"""Which stream, worker and run a batch belongs to: found, or made on its first batch, the same from many processes."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.utils import timezone

from ingest.models import Stream
from ingest.store import attempts
from ingest.store.arrivals import Arrival, Fault, Job, Refused
from ingest.store.known import Known
from roundwatch import wire

StreamKey = tuple[UUID, UUID]  # a team and what the agent calls its stream


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


_known: Known[StreamKey, StreamRef] = Known(50_000)
_MOST_RUNS = 64  # that one request may begin; whoever has more to tell of sends smaller ones
_FIND = """
SELECT s.team_id, s.uid, s.id, s.run_id, s.worker_id, coalesce(w.index, 0), s.index, s.machine, s.began_at, s.deleted
FROM unnest(%s::uuid[], %s::uuid[]) AS v (team_id, uid)
JOIN ingest_stream s ON s.team_id = v.team_id AND s.uid = v.uid LEFT JOIN ingest_worker w ON w.id = s.worker_id
"""


def forget() -> None:
    """Forget what is known of the database; tests that empty it call this."""
    _known.clear()


def find_or_make(jobs: Sequence[Job]) -> dict[StreamKey, StreamRef | Refused]:
    """The streams of requests' batches, however many in a few statements.

    A batch is refused where its run has no room for another worker. Raises Fault 413 for a request whose new streams
    are of too many runs, 429 for more new runs than a team may begin in a minute.
    """
    first: dict[StreamKey, Arrival] = {}
    for job in jobs:
        for arrival in job.arrivals:
            first.setdefault((job.team_id, arrival.stream), arrival)
    found = _known.find(first)
    found |= _stored(first.keys() - found.keys())
    answer: dict[StreamKey, StreamRef | Refused] = {**found}
    new = {key: arrival for key, arrival in first.items() if key not in found}
    if new:
        for job in jobs:
            _require_few_runs(job, new)
        refused = _make(new)
        answer |= _stored(new.keys() - refused)
        full = f"A run may have {wire.MAX_WORKERS} workers."
        answer |= {key: Refused(key[1].hex, full) for key in refused}
    return answer


def _stored(keys: Collection[StreamKey]) -> dict[StreamKey, StreamRef]:
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [list(column) for column in zip(*keys, strict=True)])
        rows = cursor.fetchall()
    found = {(team_id, uid): StreamRef(pk, team_id, *rest) for team_id, uid, pk, *rest in rows}
    _known.keep(found)
    return found


def _require_few_runs(job: Job, new: Mapping[StreamKey, Arrival]) -> None:
    owners = (arrival.who for arrival in job.arrivals if (job.team_id, arrival.stream) in new)
    if len({(who.project, who.run) for who in owners if not who.host_stream}) > _MOST_RUNS:
        raise Fault(413, "too_many", f"The new streams of a request may be of {_MOST_RUNS} runs.", "batches")


def _make(new: Mapping[StreamKey, Arrival]) -> set[StreamKey]:
    """Make streams with whatever is new around them; returns those that there is no room for."""
    hosts: list[StreamKey] = []
    of_key: dict[attempts.RunKey, list[Arrival]] = {}
    for (team_id, uid), arrival in new.items():
        if arrival.who.host_stream:
            hosts.append((team_id, uid))
        else:
            of_key.setdefault((team_id, arrival.who.project, arrival.who.run), []).append(arrival)
    # Sorted, so that two processes that make the same ones wait for each other in one direction only.
    Stream.objects.bulk_create((_host_stream(key, new[key]) for key in sorted(hosts)), ignore_conflicts=True)
    return attempts.make(of_key) if of_key else set()


def _host_stream(key: StreamKey, arrival: Arrival) -> Stream:
    team_id, uid = key
    who = arrival.who
    return Stream(
        team_id=team_id, uid=uid, machine=who.machine, pid=who.pid, began_at=who.began_at, heard_at=timezone.now()
    )
