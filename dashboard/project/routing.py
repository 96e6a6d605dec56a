"""The map of websocket paths; each socket needs our exact origin, and its consumer asks for the session."""

from typing import Any, cast

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import OriginValidator
from django.conf import settings
from django.urls import re_path

from dashboard.live.routing import websocket_urlpatterns


async def closed(scope: Any, receive: Any, send: Any) -> None:
    """Refuse a path that nobody serves, instead of the error page of an exception."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


sockets = OriginValidator(
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
