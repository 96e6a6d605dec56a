"""A limit on the size and the time of request bodies, in front of every route: Django would spool them to disk."""

import asyncio
import json
import time

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGIReceiveEvent, ASGISendCallable, Scope

from dashboard.project.errors import for_programs

# Read and dropped after the answer, so that a client in mid-upload gets to read it instead of a reset.
_DRAIN_BYTES = 8 * 1024 * 1024


class _TooLargeError(Exception):
    """The body outgrew the limit."""


class _TooSlowError(Exception):
    """The body did not arrive in time."""


class BodyLimit:
    """ASGI middleware: 413 for a body above `limit` bytes, 408 for one that takes longer than `seconds`."""

    def __init__(self, app: ASGI3Application, limit: int, seconds: float = 30.0) -> None:
        """Wrap an application."""
        self._app, self._limit, self._seconds = app, limit, seconds

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Serve one request; other scopes pass untouched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        api = for_programs(scope["path"])
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self._limit:
            await _refuse(send, receive, 413, "too_large", f"a body may have {self._limit} bytes", api=api)
            return
        watched = _Watched(receive, self._limit, self._seconds)
        try:
            await self._app(scope, watched, send)
        except _TooLargeError:
            await _refuse(send, receive, 413, "too_large", f"a body may have {self._limit} bytes", api=api)
        except _TooSlowError:
            await _refuse(send, receive, 408, "too_slow", f"a body may take {self._seconds:g} seconds", api=api)


class _Watched:
    """A receive channel that counts bytes and time until the body is complete."""

    def __init__(self, receive: ASGIReceiveCallable, limit: int, seconds: float) -> None:
        self._receive, self._left = receive, limit
        self._deadline = time.monotonic() + seconds
        self._complete = False

    async def __call__(self) -> ASGIReceiveEvent:
        if self._complete:  # what follows is only the client's leaving, which may take its time
            return await self._receive()
        try:
            async with asyncio.timeout(self._deadline - time.monotonic()):
                event = await self._receive()
        except TimeoutError:
            raise _TooSlowError from None
        if event["type"] == "http.request":
            self._left -= len(event.get("body", b""))
            self._complete = not event.get("more_body", False)
            if self._left < 0:
                raise _TooLargeError
        return event


async def _refuse(
    send: ASGISendCallable, receive: ASGIReceiveCallable, status: int, code: str, message: str, *, api: bool
) -> None:
    error = {"error": {"code": code, "message": message, "field": None}}
    body = json.dumps(error).encode() if api else message.encode()
    kind = b"application/json" if api else b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    try:
        async with asyncio.timeout(5):
            await _drain(receive)
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain(receive: ASGIReceiveCallable) -> None:
    dropped = 0
    while dropped < _DRAIN_BYTES:
        event = await receive()
        if event["type"] != "http.request":
            return
        dropped += len(event.get("body", b""))
        if not event.get("more_body", False):
            return
