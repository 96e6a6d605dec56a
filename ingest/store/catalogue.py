"""The dictionaries of a run: its phase names and the series of its streams, made on first use."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction

from ingest.models import PhaseName, Run
from ingest.store.arrivals import SeriesKey
from ingest.store.known import Known
from ingest.store.locks import Lock, hold_all
from roundwatch import wire

MAX_SERIES = 10_000  # of one stream; a metric named by a step number would otherwise fill the disk

Pair = tuple[str, int]
NameKey = tuple[UUID, Pair]  # a run, and a name with its kind


@dataclass(frozen=True, slots=True)
class SeriesPlace:
    """A series within its stream: the worker that it speaks of (None: the machine), metric and device."""

    stream_id: int
    worker_id: int | None
    metric: str
    device: str


_names: Known[NameKey, int] = Known(200_000)
_series: Known[SeriesPlace, int] = Known(100_000)


def forget() -> None:
    """Forget what is known of the database; tests that empty it call this."""
    _names.clear()
    _series.clear()


def phase_names(wanted: Iterable[NameKey]) -> dict[NameKey, int]:
    """PhaseName.index of each (run, (name, kind)); those beyond a run's 512 are absent."""
    keys = dict.fromkeys(wanted)
    found = _names.find(keys)
    new: dict[UUID, list[Pair]] = {}
    for run_id, pair in keys:
        if (run_id, pair) not in found:
            new.setdefault(run_id, []).append(pair)
    if new:
        found |= _number_names(new)
    _names.keep(found)
    return found


@transaction.atomic
def _number_names(wanted: Mapping[UUID, Sequence[Pair]]) -> dict[NameKey, int]:
    hold_all(Lock.CATALOGUE, wanted)
    there = set(Run.objects.filter(id__in=wanted).values_list("id", flat=True))
    rows = PhaseName.objects.filter(run__in=there).values_list("run_id", "name", "kind", "index")
    known: dict[NameKey, int] = {(run_id, (name, kind)): index for run_id, name, kind, index in rows}
    count = Counter(run_id for run_id, _ in known)
    made = []
    for run_id in there:
        for pair in wanted[run_id]:
            if (run_id, pair) not in known and count[run_id] < wire.MAX_PHASE_NAMES:
                known[run_id, pair] = count[run_id]
                made.append(PhaseName(run_id=run_id, index=count[run_id], name=pair[0], kind=pair[1]))
                count[run_id] += 1
    PhaseName.objects.bulk_create(made)
    return known


_FIND = """
SELECT c.stream_id, c.worker_id, c.metric, c.device, c.id
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) AS v (stream_id, worker_id, metric, device)
JOIN ingest_series c ON c.stream_id = v.stream_id AND c.metric = v.metric AND c.device = v.device
                    AND c.worker_id IS NOT DISTINCT FROM v.worker_id
"""
# Locked so that a deletion, which locks streams first, cannot take a stream or its worker away meanwhile.
_ROOM = """
SELECT s.id, (SELECT count(*) FROM ingest_series c WHERE c.stream_id = s.id)
FROM ingest_stream s WHERE s.id = ANY(%s) AND NOT s.deleted ORDER BY s.id FOR KEY SHARE
"""
# Sorted, so that two processes that make the same ones wait for each other in one direction only.
_MAKE = """
INSERT INTO ingest_series (stream_id, worker_id, metric, device, unit, source)
SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[])
     AS v (stream_id, worker_id, metric, device, unit, source)
ORDER BY stream_id, worker_id, metric, device ON CONFLICT DO NOTHING
"""


def series(wanted: Mapping[SeriesPlace, SeriesKey]) -> dict[SeriesPlace, int]:
    """Series.id by place, new ones made; those beyond MAX_SERIES of a stream, or of a deleted one, are absent."""
    found = _series.find(wanted)
    found |= _stored_series(wanted.keys() - found.keys())
    new = {place: key for place, key in wanted.items() if place not in found}
    if new:
        _make_series(new)
        found |= _stored_series(new)
    return found


def _stored_series(places: Collection[SeriesPlace]) -> dict[SeriesPlace, int]:
    if not places:
        return {}
    columns = zip(*[(each.stream_id, each.worker_id, each.metric, each.device) for each in places], strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [list(column) for column in columns])
        found = {SeriesPlace(*place): pk for *place, pk in cursor.fetchall()}
    _series.keep(found)
    return found


@transaction.atomic
def _make_series(new: Mapping[SeriesPlace, SeriesKey]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_ROOM, [list({place.stream_id for place in new})])
        room = {stream_id: MAX_SERIES - count for stream_id, count in cursor.fetchall()}
        rows = []
        for place, key in new.items():
            if room.get(place.stream_id, 0) > 0:
                room[place.stream_id] -= 1
                rows.append((place.stream_id, place.worker_id, key.metric, key.device, key.unit, key.source))
        if rows:
            cursor.execute(_MAKE, [list(column) for column in zip(*rows, strict=True)])
