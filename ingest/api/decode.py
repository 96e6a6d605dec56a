"""From the bytes of a request to the work that it makes for the store."""

from uuid import UUID

from ingest.api import check
from ingest.api.body import decode, inflate
from ingest.store.arrivals import Job


def job(team_id: UUID, body: bytes, encoding: str, arrived_ns: int) -> Job:
    """The request's work for the store; raises Fault (413, 422) for what cannot be read."""
    text = inflate(body, encoding)
    return check.job(team_id, decode(text), arrived_ns, len(text))
