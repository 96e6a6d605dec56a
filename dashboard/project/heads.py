"""A limit on the size and the time of a request's head, which uvicorn keeps in memory until it is complete."""

import asyncio
import json
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# So much may have come without the end of a head, as far as pieces from the socket let it be told apart from bodies.
MOST_BYTES = 128 * 1024
WITHIN_S = 15.0


class BoundedHeads(HttpToolsProtocol):
    """Uvicorn's protocol, for clients that may never come to the end of a head, or never begin one."""

    _late: asyncio.TimerHandle | None = None
    _further = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._wait_for_head(self._leave)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait for the end of this head."""
        super().on_message_begin()
        self._wait_for_head(self._refuse)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._wait_no_more()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Refuse what is still no whole head after so many bytes; wait for one after bytes that begin none."""
        waited = self._late is not None
        super().data_received(data)
        if self._late is None:
            # Any byte ends uvicorn's own wait for the next request, also one that says nothing, such as an empty line.
            if self in self.connections and not self._answering():
                self._wait_for_head(self._leave)
        elif waited:
            self._further += len(data)
            if self._further > MOST_BYTES:
                self._refuse()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, as every refusal under /api/ reads: programs send it, and no path is known."""
        body = json.dumps({"error": {"code": "http", "message": msg, "field": None}}).encode()
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def _wait_for_head(self, late: Callable[[], None]) -> None:
        self._wait_no_more()
        self._further, self._late = 0, self.loop.call_later(WITHIN_S, late)

    def _wait_no_more(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request

    def _leave(self) -> None:
        """Close without a word: a browser may connect ahead of its need, and would take it for its first answer."""
        self.transport.close()

    def _refuse(self) -> None:
        further = self._further
        self._wait_no_more()
        if self._answering():
            # A word now would come in the middle of the answer to an earlier request. Nothing more is read till then.
            self.flow.pause_reading()
            self._wait_for_head(self._refuse)
            self._further = further
        elif not self.transport.is_closing():
            self.send_400_response("The head of this request is too large or too slow.")
