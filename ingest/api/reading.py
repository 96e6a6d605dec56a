"""Reading a request's body within its limits of size and time, and forgetting one that is refused."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial

from asgiref.typing import ASGIReceiveCallable

from ingest.store.arrivals import Fault
from roundwatch import wire

_DRAIN_SECONDS = 5
_too_large = partial(Fault, 413, "too_large", f"A body may have {wire.MAX_COMPRESSED_BYTES} bytes.")
_too_slow = partial(Fault, 408, "too_slow", f"A body may take {wire.MAX_BODY_SECONDS} seconds.")


class GoneError(Exception):
    """The client left before its request was complete."""


class Body:
    """The body of one request; `complete` once all of it has come."""

    def __init__(self, receive: ASGIReceiveCallable) -> None:
        self._receive = receive
        self.complete = False

    async def read(self, headers: dict[bytes, bytes], seconds: float, took: Callable[[int], None]) -> bytes:
        """The whole body; `took` is told of every part's bytes.

        Raises Fault 413 (at once where Content-Length says so), Fault 408, GoneError, or what `took` raises.
        """
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > wire.MAX_COMPRESSED_BYTES:
            self.complete = True  # nothing of it is wanted
            raise _too_large()
        parts, size = [], 0
        try:
            async with asyncio.timeout(seconds):
                while not self.complete:
                    parts.append(await self._part())
                    size += len(parts[-1])
                    took(len(parts[-1]))
                    if size > wire.MAX_COMPRESSED_BYTES:
                        raise _too_large()
        except TimeoutError:
            raise _too_slow() from None
        return b"".join(parts)

    async def drain(self) -> None:
        """Take in and forget at most 8 MiB: a client still sending gets to read its answer, then is cut off."""
        dropped = 0
        with contextlib.suppress(TimeoutError, GoneError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not self.complete and dropped < wire.MAX_BODY_BYTES:
                    dropped += len(await self._part())

    async def left(self) -> None:
        """Return once the client has left; nothing of the body may be wanted any more."""
        with contextlib.suppress(GoneError):
            while True:
                await self._part()

    async def _part(self) -> bytes:
        event = await self._receive()
        if event["type"] != "http.request":
            raise GoneError
        self.complete = not event.get("more_body", False)
        return event.get("body", b"")
