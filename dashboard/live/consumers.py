"""The doorman of the live view: who may watch, what a browser may say, and nothing of what is shown."""

import asyncio
import json
import logging
import time
from importlib import import_module
from typing import Any
from uuid import UUID

import django.db
from channels.auth import get_user
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.http import Http404

from dashboard.live import hub
from dashboard.live.ending import end
from dashboard.live.viewer import Hello, RunGoneError
from dashboard.live.words import HostileError, understand
from dashboard.teams.access import run_for_async

_log = logging.getLogger(__name__)

NO_SESSION, NOT_FOUND, NOT_UNDERSTOOD, TOO_MUCH = 4401, 4404, 4400, 1008
_HELLO_WITHIN_S = 15.0
_AUTHORISE_EVERY_S = 30.0  # who is removed from a team sees no longer than a revoked token works
_TICK_S = 1.0
_BASE_EVERY_S = 10.0
_MOST_WORDS_A_SECOND = 50
_WORDS_OF_A_HELLO = 12  # it takes a look at Postgres, and a large base a tenth of a second of the process


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """One socket. Its messages are told in `ingest.feed.frames`; what a browser may say in `words`."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one socket, and leave nothing behind whichever way it ends."""
        self._tasks: list[asyncio.Task[None]] = []
        self._hub: hub.Hub | None = None
        try:
            await super().__call__(scope, receive, send)
        finally:
            await end(self._tasks)
            if self._hub:
                await hub.leave(self.run_id, self._hub, self.viewer)

    async def connect(self) -> None:
        """Let in whoever may see the run; the others are told why, which takes an open socket."""
        self.run_id = UUID(self.scope["url_route"]["kwargs"]["run_id"])
        self._greeted = self._ended = False
        self._words, self._words_since = 0, time.monotonic()
        await self.accept()
        if refusal := await self._refusal():
            await self._end(refusal)
            return
        self._hub, self.viewer = hub.enter(self.run_id)
        self._tasks = [asyncio.create_task(work()) for work in (self._send_messages, self._tick, self._guard)]

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:  # noqa: ARG002
        """Hear a hello or an acknowledgement."""
        if self._hub is None or self._ended:
            return
        try:
            said = understand(text_data)
            # By what it means, not by how it is spelt: what is too much is understood, but nothing is done for it.
            if self._too_many_words(_WORDS_OF_A_HELLO if isinstance(said, Hello) else 1):
                await self._end(TOO_MUCH)
            elif isinstance(said, Hello):
                self._greeted = True
                await self._hub.join(self.viewer, said)
            elif said is not None:
                self.viewer.acknowledge(said)
        except (HostileError, ValueError):
            await self._end(NOT_UNDERSTOOD)

    async def _end(self, code: int) -> None:
        """Close the socket, once."""
        if not self._ended:
            self._ended = True
            await self.close(code)

    async def _send_messages(self) -> None:
        try:
            while not self._ended:
                await self.send(bytes_data=await self.viewer.next())
        except RunGoneError:
            await self._end(NOT_FOUND)

    async def _tick(self) -> None:
        """Each second the server's clock: how far open bars have grown; now and then what the picture is based on."""
        based_at = time.monotonic()
        while not self._ended:
            said = {"now_ns": str(time.time_ns())}
            if time.monotonic() - based_at >= _BASE_EVERY_S and self._hub and (base := self._hub.base_for(self.viewer)):
                said["base"] = base
                based_at = time.monotonic()
            await self.send(text_data=json.dumps(said))
            await asyncio.sleep(_TICK_S)

    async def _guard(self) -> None:
        """Close on who says no hello, and on who may no longer watch."""
        await asyncio.sleep(_HELLO_WITHIN_S)
        if not self._greeted:
            await self._end(NOT_UNDERSTOOD)
        while not self._ended:
            await asyncio.sleep(_AUTHORISE_EVERY_S - _HELLO_WITHIN_S)
            try:
                refusal = await self._refusal()
            except django.db.Error:
                _log.warning("A viewer stays until it is asked again: Postgres cannot be asked whether it may.")
            else:
                if refusal:
                    await self._end(refusal)
            await asyncio.sleep(_HELLO_WITHIN_S)

    async def _refusal(self) -> int | None:
        """The code to close with, or None for somebody who may watch. Reads the session anew."""
        key = self.scope["session"].session_key
        session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        user = await get_user({"session": session})
        if not user.is_authenticated:
            return NO_SESSION
        try:
            await run_for_async(user, self.run_id)
        except Http404:
            return NOT_FOUND
        return None

    def _too_many_words(self, words: int) -> bool:
        now = time.monotonic()
        if now - self._words_since >= 1:
            self._words, self._words_since = 0, now
        self._words += words
        return self._words > _MOST_WORDS_A_SECOND
