"""Brings batches to the store as the door would, without HTTP: for tests of what becomes of them."""

import time
import uuid

from ingest.api import check
from ingest.api.decode import job
from ingest.store import telemetry
from ingest.store.arrivals import Job
from roundwatch import wire
from tests.ingest.batches import request


def make_job(team_id: uuid.UUID, *batches: wire.Batch) -> Job:
    """One request's work, by way of the bytes on the wire."""
    return job(team_id, wire.encode(request(*batches)), "gzip", time.time_ns())


def deliver(team_id: uuid.UUID, *batches: wire.Batch) -> list[wire.Result]:
    """Store the batches as one request and return its results; raises Fault as the door would answer."""
    outcome = telemetry.write([make_job(team_id, *batches)]).outcomes[0]
    if outcome.fault:
        raise outcome.fault
    return outcome.results


def deliver_raw(team_id: uuid.UUID, *batches: wire.Batch) -> list[wire.Result]:
    """As `deliver`, without JSON: for batches that JSON cannot carry."""
    return telemetry.write([check.job(team_id, request(*batches), time.time_ns())]).outcomes[0].results
