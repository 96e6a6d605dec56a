"""The front door: telemetry to the raw ingest application, sockets to channels, the rest to Django, but for files."""

import asyncio
import os
from typing import cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.project.settings")

from django.core.asgi import get_asgi_application

_django = get_asgi_application()  # loads the apps; what is imported below needs them

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope  # noqa: E402
from django.conf import settings  # noqa: E402

from dashboard.project import news  # noqa: E402
from dashboard.project.assets import Assets  # noqa: E402
from dashboard.project.limits import BodyLimit  # noqa: E402
from dashboard.project.request_ids import Named  # noqa: E402
from dashboard.project.routing import sockets  # noqa: E402
from ingest.api.asgi import app as _ingest  # noqa: E402
from roundwatch import wire  # noqa: E402

_assets = Assets.of(settings.STATIC_ROOT, settings.STATIC_URL) if settings.STATIC_IS_COLLECTED else Assets({})
_pages = Named(BodyLimit(cast(ASGI3Application, _django), settings.BODY_LIMIT_BYTES))
_telemetry, _sockets = Named(_ingest), Named(sockets)


async def application(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Serve one connection."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
    elif scope["type"] == "websocket":
        await _sockets(scope, receive, send)
    elif scope["path"] == wire.PATH and scope["method"] == "POST":
        # Past Django on purpose: at thousands of batches a second its middleware would be most of the work.
        await _telemetry(scope, receive, send)
    elif scope["path"] in _assets:
        await _assets.answer(scope, send)
    elif not await news.answered(scope, send):
        await _pages(scope, receive, send)


async def _live(receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await asyncio.to_thread(_ingest.close)  # what was taken in is written before we go
    await send({"type": "lifespan.shutdown.complete"})
