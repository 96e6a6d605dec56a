"""A batch's own tables as the database's numbers: streams, workers, phase names, series; made where they are
new.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.store import catalogue, streams
from ingest.store.arrivals import Arrival, Ints, Job
from ingest.store.catalogue import SeriesPlace, WorkerRef
from ingest.store.streams import StreamRef


@dataclass(frozen=True, slots=True)
class Resolved:
    """An arrival with what its tables stand for: PhaseName.index, workers and Series.id, -1 or None beyond
    limits.
    """

    arrival: Arrival
    stream: StreamRef
    names: Ints
    workers: Sequence[WorkerRef | None]
    series: Ints


def resolve(job: Job) -> list[Resolved]:
    """Look a request's batches up; raises Fault 422 where a run has no room for another worker.

    It commits what it makes on its own, before the batches' transaction: a run without records does no harm,
    and the locks that numbering takes are never held together with those on streams.
    """
    found = streams.find_or_make(job.team_id, job.arrivals)
    return [_resolve(arrival, found[arrival.stream]) for arrival in job.arrivals]


def _resolve(arrival: Arrival, stream: StreamRef) -> Resolved:
    names = np.full(len(arrival.names), -1, np.int64)
    workers: list[WorkerRef | None] = []
    if stream.deleted:
        return Resolved(arrival, stream, names, [None] * len(arrival.speaks_for), np.full(len(arrival.series), -1))
    if stream.run_id is not None:
        if arrival.names:
            known = catalogue.phase_names(stream.run_id, arrival.names)
            names[:] = [known.get(pair, -1) for pair in arrival.names]
        if arrival.speaks_for:
            refs = catalogue.workers(stream.run_id, arrival.speaks_for, spoken_by=stream.id)
            workers = [refs.get(name) for name in arrival.speaks_for]
    return Resolved(arrival, stream, names, workers, _series(arrival, stream, workers))


def _series(arrival: Arrival, stream: StreamRef, workers: Sequence[WorkerRef | None]) -> Ints:
    if not arrival.series:
        return np.zeros(0, np.int64)
    places = []
    for key in arrival.series:
        spoken = workers[key.worker] if key.worker >= 0 and workers else None
        owner = stream.worker_id if key.worker < 0 else spoken.id if spoken else None
        places.append(SeriesPlace(owner, key.metric, key.device))
    known = catalogue.series(stream.id, list(zip(places, arrival.series, strict=True)))
    refused = [key.worker >= 0 and not (workers and workers[key.worker]) for key in arrival.series]
    return np.array([-1 if bad else known.get(place, -1) for place, bad in zip(places, refused, strict=True)], np.int64)
