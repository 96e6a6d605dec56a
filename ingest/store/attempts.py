"""New attempts of a run's workers, made many at a time: a job's thousand ranks begin within one second."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from ingest.models import Stream
from ingest.store import crews, graves, standings
from ingest.store.arrivals import Arrival, Who
from ingest.store.locks import Lock, hold_all
from ingest.store.run_keys import RunKey, runs_for
from ingest.store.states import refresh_runs

__all__ = ["RunKey", "make"]


@dataclass(frozen=True, slots=True)
class _Member:
    """A new attempt, and where it belongs."""

    team_id: UUID
    arrival: Arrival
    run_id: UUID
    worker_id: int


@transaction.atomic
def make(of_key: Mapping[RunKey, Sequence[Arrival]]) -> set[tuple[UUID, UUID]]:
    """Make streams, with their runs and workers where they are new; returns those (team, stream) whose run has no
    room for their worker. One process at a time for each key.

    Raises Fault 429 for more new runs than a team may begin in a minute.
    """
    hold_all(Lock.KEY, (" ".join(map(str, key)) for key in of_key))
    wanted = [(key, arrival) for key, arrivals in of_key.items() for arrival in arrivals]
    streams = Stream.objects.filter(
        team__in={key[0] for key in of_key}, uid__in=[arrival.stream for _, arrival in wanted]
    )
    there = set(streams.values_list("team_id", "uid"))
    new = [(key, arrival) for key, arrival in wanted if (key[0], arrival.stream) not in there]
    gone = graves.of_deleted(new)
    graves.bury([(new[place][0][0], new[place][1]) for place in sorted(gone)])
    new = [each for place, each in enumerate(new) if place not in gone]
    members = _members(new)
    if members:
        _lock_later(members)
        _create(members)
        _number({member.worker_id for member in members})
        _introduce(members)
        refresh_runs({member.run_id for member in members})
        standings.note({member.run_id for member in members}, crew=True)
    placed = {(member.team_id, member.arrival.stream) for member in members}
    return {(key[0], arrival.stream) for key, arrival in new} - placed


def _members(new: Sequence[tuple[RunKey, Arrival]]) -> list[_Member]:
    """The attempts in the order of their arrival, each with its worker; those without room for it are left out."""
    run_ids = runs_for([(key, arrival.who) for key, arrival in new])
    wanted: dict[UUID, dict[str, int | None]] = {}
    for (_, arrival), run_id in zip(new, run_ids, strict=True):
        wanted.setdefault(run_id, {})[arrival.who.worker] = None
    hold_all(Lock.CATALOGUE, wanted)
    crew = crews.number(wanted)
    return [
        _Member(key[0], arrival, run_id, crew[run_id, arrival.who.worker].id)
        for (key, arrival), run_id in zip(new, run_ids, strict=True)
        if (run_id, arrival.who.worker) in crew
    ]


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


def _create(members: Sequence[_Member]) -> None:
    run_ids = {member.run_id for member in members}
    last = dict(Stream.objects.filter(run__in=run_ids).values_list("run").annotate(last=Max("index")).order_by())
    now, streams = timezone.now(), []
    for member in members:
        last[member.run_id] = last.get(member.run_id, -1) + 1
        who = member.arrival.who
        streams.append(
            Stream(
                team_id=member.team_id,
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
    arrivals = {(member.worker_id, member.arrival.stream): member.arrival for member in members}
    workers = sorted({member.worker_id for member in members})
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM ingest_worker WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [workers])
        cursor.execute(_TURN, [workers])
        newest = [(row[0], arrivals[row]) for row in cursor.fetchall() if row in arrivals]
        if newest:
            columns = zip(*[(pk, arrival.alive, *_words(arrival.who)) for pk, arrival in newest], strict=True)
            cursor.execute(_INTRODUCE, [timezone.now(), *(list(column) for column in columns)])


def _words(who: Who) -> tuple[object, ...]:
    return (who.role, who.rank, who.local_rank, who.world_size, who.group, who.machine, who.host, who.site)
