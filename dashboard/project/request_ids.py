"""An id for each request, by which its answer, its log lines and those of a proxy in front can be put together."""

import re
import secrets
from contextvars import ContextVar

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, Scope

HEADER = b"x-request-id"
current: ContextVar[str] = ContextVar("request_id", default="")
# It comes from outside and goes into headers and logs.
_SANE = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def request_id(scope: Scope) -> str:
    """The id that a proxy or script gave the request, if it is a sane one; else a new one."""
    given = [value for name, value in scope.get("headers", ()) if name == HEADER]  # type: ignore[attr-defined]
    return given[0].decode() if len(given) == 1 and _SANE.fullmatch(given[0]) else secrets.token_hex(8)


class Named:
    """Serves an application's requests and sockets under their id; answers say it as X-Request-ID."""

    def __init__(self, app: ASGI3Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Serve one connection."""
        known = request_id(scope)

        async def answer(event: ASGISendEvent) -> None:
            if event["type"] == "http.response.start":
                event["headers"] = [*event.get("headers", ()), (HEADER, known.encode())]
            await send(event)

        token = current.set(known)
        try:
            await self._app(scope, receive, answer)
        finally:
            current.reset(token)
