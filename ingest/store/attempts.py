"""New attempts of a run's workers, made many at a time: a job's thousand ranks begin within one second."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from ingest.models import Stream
from ingest.store import crews
from ingest.store.arrivals import Arrival, Who
from ingest.store.locks import Lock, hold
from ingest.store.run_keys import RunKey, runs_for
from ingest.store.states import refresh_runs

__all__ = ["RunKey", "make"]


@dataclass(frozen=True, slots=True)
class _Member:
    """A new attempt, and where it belongs."""

    arrival: Arrival
    run_id: UUID
    worker_id: int


@transaction.atomic
def make(key: RunKey, arrivals: Sequence[Arrival]) -> list[UUID]:
    """Make streams of one key, with the run and the workers where they are new; returns those whose run has no
    room for their worker. One process at a time for each key.
    """
    hold(Lock.KEY, " ".join(map(str, key)))
    uids = [arrival.stream for arrival in arrivals]
    there = set(Stream.objects.filter(team_id=key[0], uid__in=uids).values_list("uid", flat=True))
    new = [arrival for arrival in arrivals if arrival.stream not in there]
    members = _members(key, new)
    if members:
        _lock_later(members)
        _create(key[0], members)
        _number({member.worker_id for member in members})
        _introduce(members)
        refresh_runs({member.run_id for member in members})
    placed = {member.arrival.stream for member in members}
    return [arrival.stream for arrival in new if arrival.stream not in placed]


def _members(key: RunKey, new: Sequence[Arrival]) -> list[_Member]:
    """The attempts in the order of their arrival, each with its worker; those without room for it are left out."""
    of_run: dict[UUID, list[Arrival]] = {}
    for arrival, run_id in zip(new, runs_for(key, [arrival.who for arrival in new]), strict=True):
        of_run.setdefault(run_id, []).append(arrival)
    for run_id in sorted(of_run):
        hold(Lock.CATALOGUE, run_id)
    members: list[_Member] = []
    for run_id, arrivals in of_run.items():
        crew = crews.number(run_id, {arrival.who.worker: None for arrival in arrivals})
        members += [
            _Member(arrival, run_id, crew[arrival.who.worker].id) for arrival in arrivals if arrival.who.worker in crew
        ]
    return members


# Attempts are numbered by when they began, not by when they were heard of: those after a new one move up.
_LATER = """
SELECT 1 FROM ingest_stream s JOIN (
    SELECT worker_id, min(began_at) AS began_at FROM unnest(%s::bigint[], %s::timestamptz[]) AS v (worker_id, began_at)
    GROUP BY worker_id
) v ON s.worker_id = v.worker_id AND s.began_at > v.began_at ORDER BY s.id FOR NO KEY UPDATE OF s
"""
_NUMBER = """
UPDATE ingest_stream s SET attempt = n.attempt FROM (
    SELECT id, row_number() OVER (PARTITION BY worker_id ORDER BY began_at, id) - 1 AS attempt
    FROM ingest_stream WHERE worker_id = ANY(%s)
) n WHERE s.id = n.id AND s.attempt <> n.attempt
"""


def _lock_later(members: Sequence[_Member]) -> None:
    columns = zip(*[(member.worker_id, member.arrival.who.began_at) for member in members], strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_LATER, [list(column) for column in columns])


def _create(team_id: UUID, members: Sequence[_Member]) -> None:
    run_ids = {member.run_id for member in members}
    last = dict(Stream.objects.filter(run__in=run_ids).values_list("run").annotate(last=Max("index")).order_by())
    now, streams = timezone.now(), []
    for member in members:
        last[member.run_id] = last.get(member.run_id, -1) + 1
        who = member.arrival.who
        streams.append(
            Stream(
                team_id=team_id,
                uid=member.arrival.stream,
                worker_id=member.worker_id,
                run_id=member.run_id,
                index=last[member.run_id],
                machine=who.machine,
                pid=who.pid,
                began_at=who.began_at,
                heard_at=now,
            )
        )
    Stream.objects.bulk_create(streams)


def _number(worker_ids: Iterable[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_NUMBER, [list(worker_ids)])


_TURN = """
UPDATE ingest_worker w SET attempt = n.attempt, spoken_by_id = NULL FROM (
    SELECT DISTINCT ON (worker_id) worker_id, attempt, uid FROM ingest_stream WHERE worker_id = ANY(%s)
    ORDER BY worker_id, attempt DESC
) n WHERE w.id = n.worker_id RETURNING w.id, n.uid
"""
_INTRODUCE = """
UPDATE ingest_worker w SET role = v.role, rank = v.rank, local_rank = v.local_rank, world_size = v.world_size,
    "group" = v.crew, machine = v.machine, host = v.host, site = v.site,
    state = CASE WHEN v.alive THEN 'running' ELSE w.state END,
    state_reason = CASE WHEN v.alive THEN '' ELSE w.state_reason END,
    last_seen = CASE WHEN v.alive THEN %s ELSE w.last_seen END
FROM unnest(%s::bigint[], %s::bool[], %s::text[], %s::int[], %s::int[], %s::int[], %s::text[], %s::text[],
            %s::text[], %s::text[])
     AS v (id, alive, role, rank, local_rank, world_size, crew, machine, host, site)
WHERE w.id = v.id
"""


def _introduce(members: Sequence[_Member]) -> None:
    """Say on the workers' rows who their newest attempts are; a living one brings its worker back."""
    arrivals = {member.arrival.stream: member.arrival for member in members}
    workers = sorted({member.worker_id for member in members})
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM ingest_worker WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [workers])
        cursor.execute(_TURN, [workers])
        newest = [(pk, arrivals[uid]) for pk, uid in cursor.fetchall() if uid in arrivals]
        if newest:
            columns = zip(*[(pk, arrival.alive, *_words(arrival.who)) for pk, arrival in newest], strict=True)
            cursor.execute(_INTRODUCE, [timezone.now(), *(list(column) for column in columns)])


def _words(who: Who) -> tuple[object, ...]:
    return (who.role, who.rank, who.local_rank, who.world_size, who.group, who.machine, who.host, who.site)
