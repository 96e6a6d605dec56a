"""The door's answers: JSON with a status, and for a refusal the one shape of errors."""

import msgspec
from asgiref.typing import ASGISendCallable

from ingest.store.arrivals import Fault

Header = tuple[bytes, bytes]
_OF_STATUS: dict[int, list[Header]] = {
    401: [(b"www-authenticate", b"Bearer")],
    405: [(b"allow", b"POST")],
}


def body_of(fault: Fault) -> bytes:
    """A refusal as people and programs read it."""
    error = {"code": fault.code, "message": fault.message, "field": fault.field}
    return msgspec.json.encode({"error": error})


async def send_answer(send: ASGISendCallable, body: object) -> None:
    """Answer 200 with an object as JSON."""
    await _send(send, 200, msgspec.json.encode(body), [], more=False)


async def send_fault(send: ASGISendCallable, fault: Fault, *, more: bool = False) -> None:
    """Answer with a refusal. With `more` the body stays open, so that the client reads it while still sending."""
    headers = list(_OF_STATUS.get(fault.status, []))
    if fault.status in {429, 503}:
        headers.append((b"retry-after", str(fault.retry_s).encode()))
    if fault.status in {401, 405, 408, 413}:  # its body was not read to the end
        headers.append((b"connection", b"close"))
    await _send(send, fault.status, body_of(fault), headers, more=more)


async def _send(send: ASGISendCallable, status: int, body: bytes, headers: list[Header], *, more: bool) -> None:
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head, "trailers": False})
    await send({"type": "http.response.body", "body": body, "more_body": more})
