"""The door's way to tokens: each is looked up once however many requests show it, and a dead database is no refusal."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import DatabaseError, connection

from ingest.api import auth
from ingest.api.auth import TokenInfo
from ingest.api.outage import LOOK_EVERY_S, Outage, down
from ingest.store.arrivals import Fault

_MOST_WAITING = 64
_busy = partial(Fault, 503, "busy", "Too many tokens are being looked up; try again in a second.")


class Lookups:
    """Looks tokens up in a thread of its own, for one event loop."""

    def __init__(self, outage: Outage) -> None:
        """Prepare; while the `outage` lasts, nothing is asked."""
        self._outage = outage
        self._thread = ThreadPoolExecutor(1, "ingest-token")
        self._asked: dict[bytes, asyncio.Task[TokenInfo | None]] = {}

    async def find(self, digest: bytes) -> TokenInfo | None:
        """The token of the hash, None where it is unknown.

        Raises Fault 503 where the database does not answer or too many others wait for it, unless the token was found a
        short while ago.
        """
        known = auth.remembered(digest)
        down_now = self._outage.lasts or self._outage.silent
        if known:
            if known.token and known.ages and not down_now and self._free(digest):
                self._ask(digest)
            return known.token
        if down_now:
            return _last_found(digest, down())
        if digest not in self._asked:
            if len(self._asked) >= _MOST_WAITING:
                return _last_found(digest, _busy())
            self._ask(digest)
        return await self._wait_for(digest, self._asked[digest])

    def close(self) -> None:
        """Wait for what is being looked up."""
        self._thread.shutdown()

    def _free(self, digest: bytes) -> bool:
        return digest not in self._asked and len(self._asked) < _MOST_WAITING

    async def _wait_for(self, digest: bytes, task: asyncio.Task[TokenInfo | None]) -> TokenInfo | None:
        # Neither who leaves nor who gives up takes the answer away from the others.
        while not (await asyncio.wait([task], timeout=LOOK_EVERY_S))[0]:
            if self._outage.silent:
                return _last_found(digest, down())
        return task.result()

    def _ask(self, digest: bytes) -> None:
        def done(task: asyncio.Task[TokenInfo | None]) -> None:
            del self._asked[digest]
            if not task.cancelled():
                task.exception()  # everybody who asked may have left

        self._asked[digest] = asyncio.create_task(self._answer(digest))
        self._asked[digest].add_done_callback(done)

    async def _answer(self, digest: bytes) -> TokenInfo | None:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._look_up, digest)
        except DatabaseError:
            return _last_found(digest, down())

    def _look_up(self, digest: bytes) -> TokenInfo | None:
        if self._outage.lasts:
            raise DatabaseError  # the one before this found out
        try:
            with self._outage.asking():
                return auth.look_up(digest)
        except DatabaseError:
            self._outage.begin()
            raise
        finally:
            connection.close()


def _last_found(digest: bytes, fault: Fault) -> TokenInfo:
    token = auth.found_lately(digest)
    if token is None:
        raise fault
    return token
