"""Follows one run's feed in Redis for as long as it is watched, through Redis' deaths and new lives."""

import asyncio
import logging
from collections.abc import Callable
from uuid import UUID

from dashboard.live.entries import Entry, Feed, RedisError
from dashboard.live.frames import weight
from dashboard.live.window import MAX_BYTES

_log = logging.getLogger(__name__)

_LISTEN_S = 1.0  # then the epoch is looked at, whether or not something came
_RETRY_S = 0.25


class Follower:
    """Hands on entries in order. `epoch` and `position` say how far; `reachable` whether Redis answered last.

    `breaks` counts how often entries were missing.
    """

    def __init__(
        self,
        run_id: UUID,
        *,
        on_entries: Callable[[list[Entry]], None],
        on_break: Callable[[], None],
        on_return: Callable[[], None],
    ) -> None:
        """`on_entries` is called before the position moves on; `on_return` when Redis answers again.

        `on_break` is called when entries are missing: the feed began anew, was trimmed or is unreadable.
        """
        self.epoch = self.position = self.breaks = 0
        self.reachable = False
        self.settled = asyncio.Event()  # Redis has answered for the first time, or failed to
        self._feed = Feed(run_id)
        self._on_entries, self._on_break, self._on_return = on_entries, on_break, on_return
        self._begun = False

    async def run(self) -> None:
        """Follow until cancelled."""
        async with self._feed:
            while True:
                try:
                    await self._step()
                except (RedisError, OSError) as error:
                    if self.reachable:
                        _log.warning("The live feed is read from Postgres alone: Redis does not answer (%s).", error)
                    self.reachable = False
                    self.settled.set()
                    await asyncio.sleep(_RETRY_S)
                except Exception:  # noqa: BLE001 - an entry that cannot be read; who follows must not end over it
                    _log.exception("The live feed of a run holds something unreadable; its viewers begin anew.")
                    self._begun, self.reachable = False, False
                    self.settled.set()
                    await asyncio.sleep(_RETRY_S)

    async def since(self, epoch: int, position: int) -> tuple[int, list[Entry]] | None:
        """The feed's epoch and everything after a viewer's cursor; None where it needs a snapshot.

        A viewer whose snapshot met no feed has epoch 0: it may follow any feed that is whole from its first entry.
        Raises RedisError.
        """
        entries: list[Entry] = []
        while True:
            reading = await self._feed.read(position)
            begins_here = epoch == 0 and position == 0
            if not reading.whole or (reading.epoch != epoch and not begins_here):
                return None
            entries += reading.entries
            if sum(weight(entry.part) for entry in entries) > MAX_BYTES:
                return None
            if not reading.more:
                return reading.epoch, entries
            epoch, position = reading.epoch, entries[-1].position

    def _break(self) -> None:
        self.breaks += 1
        self._on_break()

    async def _step(self) -> None:
        if not self._begun:
            self.epoch, self.position = await self._feed.newest()
            self._begun = True
            if self.settled.is_set():  # viewers were let in without the feed
                self._break()
            self.settled.set()
        await self._read()
        if not self.reachable:
            self.reachable = True
            self._on_return()
        await self._feed.wait(self.position, _LISTEN_S)

    async def _read(self) -> None:
        more = True
        while more:
            reading = await self._feed.read(self.position)
            first_life = self.epoch == 0 and self.position == 0
            if not reading.whole or (reading.epoch != self.epoch and not first_life):
                self.epoch, self.position = await self._feed.newest()
                self._break()
                return
            self.epoch = reading.epoch
            if reading.entries:
                self._on_entries(reading.entries)
                self.position = reading.entries[-1].position
            more = reading.more
