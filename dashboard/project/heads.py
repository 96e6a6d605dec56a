"""A limit on the size and the time of a request's head, which uvicorn keeps in memory until it is complete."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# So much may have come without the end of a head, as far as pieces from the socket let it be told apart from bodies.
MOST_BYTES = 128 * 1024
WITHIN_S = 15.0


class BoundedHeads(HttpToolsProtocol):
    """Uvicorn's protocol, for clients that may never come to the end of a head, or never begin one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._further = 0
        # A browser may connect ahead of its need; an answer to nothing would meet its first request.
        self._late = self.loop.call_later(WITHIN_S, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._late.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Wait for the end of this head."""
        super().on_message_begin()
        self._late.cancel()
        self._further, self._late = 0, self.loop.call_later(WITHIN_S, self._refuse)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._late.cancel()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Refuse what is still no whole head after so many bytes."""
        waited = not self._late.cancelled()
        super().data_received(data)
        if waited and not self._late.cancelled():
            self._further += len(data)
            if self._further > MOST_BYTES:
                self._refuse()

    def _refuse(self) -> None:
        self._late.cancel()
        if not self.transport.is_closing():
            self.send_400_response("The head of this request is too large or too slow.")
