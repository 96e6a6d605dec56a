"""The map of websocket paths; each socket needs our exact origin, and its consumer asks for the session."""

from typing import Any, cast
from urllib.parse import urlsplit

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.urls import re_path

from dashboard.live.routing import websocket_urlpatterns


async def closed(scope: Any, receive: Any, send: Any) -> None:
    """Refuse what nobody serves, instead of the error page of an exception."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


def _sound(origin: bytes) -> bool:
    try:
        return urlsplit(origin.decode("latin-1")).port != 0
    except ValueError:
        return False


async def sockets(scope: Any, receive: Any, send: Any) -> None:
    """Serve one socket; an origin that is no address is refused as any other that is not ours."""
    # The validator would fail on it, and the browser see an error of ours.
    sound = all(_sound(value) for name, value in scope["headers"] if name == b"origin")
    await (_ours_only if sound else closed)(scope, receive, send)


_ours_only = OriginValidator(
    AuthMiddlewareStack(
        URLRouter(
            [
                *websocket_urlpatterns,  # /ws/runs/<id>/: the live view of one run
                re_path(r"", cast(Any, closed)),
            ]
        )
    ),
    settings.ORIGINS,
)
