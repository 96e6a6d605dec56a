"""Generations of a round: a worker that replays it opens a new one, its peers join it, late records find theirs."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection

from ingest.models import Round
from ingest.store import arrays
from ingest.store.known import Known
from ingest.store.locks import Lock, hold_all

PartKey = tuple[int, int, int]  # stream, worker and the round's index


@dataclass(slots=True)
class Part:
    """What one transaction says of a worker's part in a round as recorded by a stream; times Unix ns.

    `began_at` is when the stream's attempt began; `own` whether the stream is the worker's.
    """

    run_id: UUID
    stream_id: int
    worker_id: int
    index: int
    began_at: dt.datetime
    own: bool
    begin_ns: int
    end_ns: int | None = None
    derived: bool = True

    @property
    def key(self) -> PartKey:
        """Stream, worker and round."""
        return (self.stream_id, self.worker_id, self.index)


@dataclass(slots=True)
class _Sibling:
    """An attempt's part in a generation."""

    stream_id: int
    began_at: dt.datetime
    ended: bool


@dataclass(slots=True)
class _Generation:
    """One generation of a round, and the parts in it by worker; its id is 0 until it is stored."""

    run_id: UUID
    index: int
    number: int
    begin_ns: int = 0
    closed: bool = False
    id: int = 0
    parts: dict[int, list[_Sibling]] = field(default_factory=dict)


Rounds = dict[tuple[UUID, int], list[_Generation]]

# Looked for round by round (OFFSET 0 keeps the planner to it): a long run's worker has thousands of parts.
_LOAD = """
SELECT r.run_id, r.index, r.id, r.generation, r.closed, p.worker_id, p.stream_id, p.began_at, p.ended
FROM ingest_round r LEFT JOIN LATERAL (
    SELECT p.worker_id, p.stream_id, s.began_at, p.end_ns IS NOT NULL AND NOT p.derived AS ended
    FROM (SELECT * FROM ingest_workerround l WHERE l.round_id = r.id
             AND (l.worker_id = ANY(%(workers)s::bigint[]) OR l.stream_id = ANY(%(streams)s::bigint[])) OFFSET 0) p
         JOIN ingest_stream s ON s.id = p.stream_id
    WHERE s.worker_id = p.worker_id OR p.stream_id = ANY(%(streams)s::bigint[])
) p ON true
WHERE r.run_id = ANY(%(runs)s::uuid[]) AND r.index = ANY(%(indexes)s::int[]) ORDER BY r.generation
"""
# Where parts are that were committed: a part never moves to another generation.
_known: Known[PartKey, int] = Known(50_000)


def forget() -> None:
    """Forget what is known of the database."""
    _known.clear()


def remember(places: Mapping[PartKey, int]) -> None:
    """Remember the Round.id of parts that have been committed."""
    _known.keep(places)


def place(parts: Sequence[Part]) -> dict[PartKey, int]:
    """Round.id for each part by its key; rounds and generations that do not exist are made."""
    found = _known.find(part.key for part in parts)
    new = [part for part in parts if part.key not in found]
    if not new:
        return found
    # What is said of their rounds besides belongs to it: where a new part goes depends on which others have ended.
    rounds = {(part.run_id, part.index) for part in new}
    told = [part for part in parts if (part.run_id, part.index) in rounds]
    hold_all(Lock.ROUNDS, {part.run_id for part in new})
    places = _places(told, _load(told))
    _insert([each for each in places.values() if not each.id])
    return found | {key: generation.id for key, generation in places.items()}


def _places(parts: Sequence[Part], rounds: Rounds) -> dict[PartKey, _Generation]:
    """Where each part is or shall be. Earlier attempts first, and each before what it derives."""
    places: dict[PartKey, _Generation] = {}
    for part in sorted(parts, key=lambda part: (part.began_at, part.stream_id, part.index, not part.own)):
        generations = rounds.setdefault((part.run_id, part.index), [])
        chosen = _present(part, generations)
        if chosen is None:
            chosen = _choose(part, generations)
            chosen.parts.setdefault(part.worker_id, []).append(_Sibling(part.stream_id, part.began_at, ended=False))
        places[part.key] = chosen
        for sibling in chosen.parts[part.worker_id]:
            sibling.ended |= sibling.stream_id == part.stream_id and part.end_ns is not None and not part.derived
    return places


def _present(part: Part, generations: Sequence[_Generation]) -> _Generation | None:
    return next(
        (
            each
            for each in generations
            if any(sibling.stream_id == part.stream_id for sibling in each.parts.get(part.worker_id, ()))
        ),
        None,
    )


def _choose(part: Part, generations: list[_Generation]) -> _Generation:
    """The generation of a part that is new.

    It opens one where an earlier attempt of its worker has ended the newest (or was in it when it closed). It
    joins an older one where the newest belongs to a later attempt: then the records came late.
    """
    if not part.own:  # what a stream says of others belongs where the stream itself is
        for each in generations:
            if any(sibling.stream_id == part.stream_id for there in each.parts.values() for sibling in there):
                return each
    for each in reversed(generations):
        siblings = each.parts.get(part.worker_id, ()) if part.own else ()
        if any(there.began_at < part.began_at and (there.ended or each.closed) for there in siblings):
            if each is not generations[-1]:
                return each
            break
        if not any(there.began_at > part.began_at for there in siblings):
            return each
    else:
        if generations:
            return generations[0]
    made = _Generation(part.run_id, part.index, len(generations), part.begin_ns)
    generations.append(made)
    return made


def _insert(generations: Iterable[_Generation]) -> None:
    """Store new generations and give them their ids."""
    new = list({id(each): each for each in generations}.values())
    rows = Round.objects.bulk_create(
        Round(run_id=each.run_id, index=each.index, generation=each.number, begin_ns=each.begin_ns) for each in new
    )
    for each, row in zip(new, rows, strict=True):
        each.id = row.pk


def _load(parts: Sequence[Part]) -> Rounds:
    """The generations that exist of the parts' rounds, oldest first, with the parts that matter to these workers."""
    rounds: Rounds = {}
    by_id: dict[int, _Generation] = {}
    wanted = {
        "workers": arrays.numbers({part.worker_id for part in parts}),
        "streams": arrays.numbers({part.stream_id for part in parts}),
        "runs": arrays.texts({str(part.run_id) for part in parts}),
        "indexes": arrays.numbers({part.index for part in parts}),
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOAD, wanted)
        for run_id, index, pk, number, closed, worker_id, *sibling in cursor.fetchall():
            if pk not in by_id:
                by_id[pk] = _Generation(run_id, index, number, closed=closed, id=pk)
                rounds.setdefault((run_id, index), []).append(by_id[pk])
            if worker_id is not None:
                by_id[pk].parts.setdefault(worker_id, []).append(_Sibling(*sibling))
    return rounds
