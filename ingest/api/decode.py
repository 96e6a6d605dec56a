"""From the bytes of a request to checked arrivals."""

from uuid import UUID

from ingest.api.body import decode, inflate
from ingest.api.check import arrivals
from ingest.store.arrivals import Job


def job(team_id: UUID, body: bytes, encoding: str, arrived_ns: int) -> Job:
    """The request's work for the store; raises Fault (413, 422) for what cannot be read."""
    text = inflate(body, encoding)
    return Job(team_id, arrivals(decode(text), arrived_ns), arrived_ns, len(text))
