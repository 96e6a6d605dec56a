"""Batches' own tables as the database's numbers: streams, workers, phase names, series; made where they are new."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

import numpy as np

from ingest.store import catalogue, crews, streams
from ingest.store.arrivals import Arrival, Ints, Job, Refused, SeriesKey
from ingest.store.catalogue import NameKey, SeriesPlace
from ingest.store.crews import WorkerKey, WorkerRef
from ingest.store.streams import StreamKey, StreamRef


@dataclass(frozen=True, slots=True)
class Resolved:
    """An arrival with what its tables stand for: PhaseName.index, workers and Series.id, -1 or None beyond limits."""

    arrival: Arrival
    stream: StreamRef
    names: Ints
    workers: Sequence[WorkerRef | None]
    series: Ints


@dataclass(frozen=True, slots=True)
class _Placed:
    """An arrival whose stream is known; `run_id` is None for a shipper's own stream and for a deleted one."""

    arrival: Arrival
    stream: StreamRef
    run_id: UUID | None

    def name_keys(self) -> list[NameKey]:
        """What its names are looked up by: one for each, or none at all."""
        return [(self.run_id, pair) for pair in self.arrival.names] if self.run_id else []

    def worker_keys(self) -> list[WorkerKey]:
        """What the workers it speaks for are looked up by: one for each, or none at all."""
        return [(self.run_id, name) for name in self.arrival.speaks_for] if self.run_id else []

    def series_places(self, workers: Mapping[WorkerKey, WorkerRef]) -> list[SeriesPlace | None]:
        """Where its series belong, None for those that there is no room or no stream for."""
        crew = [workers.get(key) for key in self.worker_keys()]
        places: list[SeriesPlace | None] = []
        for key in self.arrival.series:
            spoken = crew[key.worker] if crew and key.worker >= 0 else None
            if self.stream.deleted or (key.worker >= 0 and spoken is None):
                places.append(None)
                continue
            worker_id = spoken.id if spoken else self.stream.worker_id
            places.append(SeriesPlace(self.stream.id, worker_id, key.metric, key.device))
        return places


def resolve(jobs: Sequence[Job]) -> list[tuple[list[Resolved], list[Refused]]]:
    """Look requests' batches up, all together; those are refused whose run has no room for their worker.

    It commits what it makes on its own, before the batches' transaction: a run without records does no harm,
    and the locks that numbering takes are never held together with those on streams.
    """
    found = streams.find_or_make(jobs)
    placed = [_placed(job, found) for job in jobs]
    resolved = iter(_resolved([each for places, _ in placed for each in places]))
    return [(list(islice(resolved, len(places))), refused) for places, refused in placed]


def _placed(job: Job, found: Mapping[StreamKey, StreamRef | Refused]) -> tuple[list[_Placed], list[Refused]]:
    places: list[_Placed] = []
    refused: list[Refused] = []
    for arrival in job.arrivals:
        stream = found[job.team_id, arrival.stream]
        if isinstance(stream, Refused):
            refused.append(stream)
        else:
            places.append(_Placed(arrival, stream, None if stream.deleted else stream.run_id))
    return places, refused


def _resolved(placed: Sequence[_Placed]) -> list[Resolved]:
    """Each with its tables looked up, in this order."""
    names = catalogue.phase_names(key for each in placed for key in each.name_keys())
    speakers: dict[WorkerKey, int] = {}
    for each in placed:
        for key in each.worker_keys():
            speakers.setdefault(key, each.stream.id)
    workers = crews.spoken_for(speakers)
    places = [each.series_places(workers) for each in placed]
    wanted: dict[SeriesPlace, SeriesKey] = {}
    for each, its in zip(placed, places, strict=True):
        wanted |= {place: key for place, key in zip(its, each.arrival.series, strict=True) if place}
    series = catalogue.series(wanted)
    return [
        Resolved(
            each.arrival,
            each.stream,
            np.array([names.get(key, -1) for key in each.name_keys()] or [-1] * len(each.arrival.names), np.int64),
            [workers.get(key) for key in each.worker_keys()] or [None] * len(each.arrival.speaks_for),
            np.array([series.get(place, -1) if place else -1 for place in its], np.int64),
        )
        for each, its in zip(placed, places, strict=True)
    ]
