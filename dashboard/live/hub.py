"""One hub for each run that is being watched in this process: reads its feed once, for all who watch it."""

import asyncio
import logging
import time
from uuid import UUID
from weakref import WeakKeyDictionary

import django.db

from dashboard.live.comparison import MOST_MISSING, Comparison
from dashboard.live.ending import end
from dashboard.live.entries import Entry, RedisError
from dashboard.live.follower import Follower
from dashboard.live.frames import Part, encode, merge
from dashboard.live.numbers import Numbers, count, each_minus, each_union, to_text
from dashboard.live.reading import in_thread
from dashboard.live.viewer import Hello, Viewer
from dashboard.live.window import Window
from ingest.feed.frames import Cursor

_log = logging.getLogger(__name__)

# Viewers are sent at most ten messages in any second: two at once after a pause, so that a heartbeat delays no news,
# and else one each 125 ms.
_BEAT_S = 0.125
_LOOK_S = 1.0
_CONFIRM_S = 0.3  # how long what Postgres has and the feed has not may still be on its way
_BASE_S = 5.0


class Hub:
    """Joins the feed and the looks at Postgres into one window, and lets viewers in at the right place.

    `shown` are the stream numbers that each viewer was sent, or will be by what the window holds.
    """

    def __init__(self, run_id: UUID) -> None:
        """Begin to follow; needs a running event loop."""
        self.window = Window()
        self.viewers: set[Viewer] = set()
        self.shown: Numbers | None = None
        self.comparison = Comparison(run_id)
        self.follower = Follower(run_id, on_entries=self._take, on_break=self._lose_all, on_return=self._lose_unsure)
        self._suspects: Numbers = {}
        self._pending: list[tuple[Part, Numbers]] = []
        self._next_beat = self._looked_from = self._based_at = 0.0
        self._before_pending = 0
        self._base = ("", 0)
        self._looking, self._hurry = asyncio.Lock(), asyncio.Event()
        self._tasks = [asyncio.create_task(self.follower.run()), asyncio.create_task(self._compare())]

    async def stop(self) -> None:
        """Stop following; returns when nothing of it runs any more."""
        await end(self._tasks)

    async def join(self, viewer: Viewer, hello: Hello) -> None:
        """Let a viewer in: it is sent the present state, what followed its cursor, and then all that comes."""
        await self.follower.settled.wait()
        viewer.begin()
        handed_on = self._before_pending if self._pending else self.follower.position
        breaks = self.follower.breaks
        try:
            await self._fresh_look()
        except django.db.Error:
            _log.warning("A viewer joined without a look at Postgres, which does not answer.")
        caught_up: tuple[int | None, list[Entry]] | None
        try:
            caught_up = await self.follower.since(hello.epoch, hello.last)
        except (RedisError, OSError, ValueError):
            caught_up = (None, [])
        if caught_up is None or breaks != self.follower.breaks or not self._owe(viewer, hello, caught_up[1]):
            viewer.lose()
            return
        epoch, entries = caught_up
        # Later ones come with the blocks after the viewer's place.
        entries = [entry for entry in entries if entry.position <= handed_on]
        last = entries[-1].position if entries else hello.last
        first = encode(merge([self.comparison.state, *(e.part for e in entries)]), Cursor(epoch or 0, hello.last, last))
        viewer.welcome(first, time.monotonic(), in_step=epoch is not None)

    def base_for(self, viewer: Viewer) -> str:
        """Text of what a viewer's picture is now based on, or "" where that cannot be said at this moment."""
        now = time.monotonic()
        if now - self._based_at >= _BASE_S and not self._pending and self.shown is not None:
            self._based_at, self._base = now, (to_text(self.shown), self.window.newest)
        text, place = self._base
        sure = viewer.caught_up and viewer.joined_at < self._based_at and (viewer.place or 0) >= place
        return text if sure else ""

    def _owe(self, viewer: Viewer, hello: Hello, entries: list[Entry]) -> bool:
        """Count as not shown what this viewer lacks, so that the next look finds it; False where that is too much."""
        if self.shown is None or hello.base is None:
            return True
        coming = [numbers for _, numbers in self._pending]
        if viewer.place is not None:
            coming.append(self.window.numbers_after(viewer.place))
        has = each_union(hello.base, *(entry.numbers for entry in entries), *coming)
        lacks = each_minus(self.shown, has)
        if count(lacks) > MOST_MISSING:
            return False
        if lacks:
            self.shown = each_minus(self.shown, lacks)
            self._hurry.set()
        return True

    def _take(self, entries: list[Entry]) -> None:
        if self.shown is not None:
            self.shown = each_union(self.shown, *(entry.numbers for entry in entries))
        for entry in entries:
            self._add(entry.part, entry.numbers)

    def _add(self, part: Part, numbers: Numbers) -> None:
        self._pending.append((part, numbers))
        if len(self._pending) == 1:
            self._before_pending = self.follower.position
            wait = self._next_beat - _BEAT_S - time.monotonic()
            asyncio.get_running_loop().call_later(max(wait, 0), self._flush)

    def _flush(self) -> None:
        self._next_beat = max(self._next_beat, time.monotonic()) + _BEAT_S
        pending, self._pending = self._pending, []
        part, numbers = merge([part for part, _ in pending]), each_union(*(numbers for _, numbers in pending))
        self.window.add(part, numbers, epoch=self.follower.epoch, last=self.follower.position)
        places = [viewer.place for viewer in self.viewers if viewer.place is not None]
        self.window.forget_until(min(places, default=self.window.newest))
        for viewer in self.viewers:
            viewer.wake()

    def _lose_all(self) -> None:
        for viewer in self.viewers:
            if viewer.standing:
                viewer.lose()

    def _lose_unsure(self) -> None:
        """Redis is back: those who joined without it begin anew, in step with the feed."""
        for viewer in self.viewers:
            if viewer.standing and not viewer.in_step:
                viewer.lose()

    async def _compare(self) -> None:
        while True:
            try:
                async with self._looking:
                    await self._look()
            except django.db.Error as error:
                _log.warning("A run's feed could not be compared with Postgres (%s).", error)
            except Exception:  # noqa: BLE001 - without further looks spans could stay hidden
                _log.exception("A run's feed could not be compared with Postgres.")
            try:
                async with asyncio.timeout(_CONFIRM_S if self._suspects else _LOOK_S):
                    await self._hurry.wait()
            except TimeoutError:
                continue
            self._hurry.clear()

    async def _fresh_look(self) -> None:
        """Return after a look that began after this call; several callers share one."""
        asked = time.monotonic()
        async with self._looking:
            if self._looked_from < asked:
                await self._look()

    async def _look(self) -> None:
        self._looked_from = time.monotonic()
        look = await in_thread(self.comparison.look, self.shown, self._suspects, sure=not self.follower.reachable)
        if look is None:
            for viewer in self.viewers:
                viewer.bury()
            return
        self._suspects = {} if look.beyond else each_minus(look.missing, look.numbers)
        if look.beyond or self.shown is None:
            # Whoever was let in without a look has a picture of which nothing is known.
            self._lose_all()
            self.shown = each_union(self.shown or {}, look.stored)
        self.shown = each_union(self.shown, look.numbers)
        if look.part:
            self._add(look.part, look.numbers)


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[UUID, Hub]] = WeakKeyDictionary()


def enter(run_id: UUID) -> tuple[Hub, Viewer]:
    """The run's hub in this process, begun with its first viewer, and a viewer that is to join it."""
    hubs = _hubs.setdefault(asyncio.get_running_loop(), {})
    hub = hubs.get(run_id) or hubs.setdefault(run_id, Hub(run_id))
    viewer = Viewer(hub.window)
    hub.viewers.add(viewer)
    return hub, viewer


async def leave(run_id: UUID, hub: Hub, viewer: Viewer) -> None:
    """Forget a viewer; with the last one its hub ends."""
    hub.viewers.discard(viewer)
    if not hub.viewers:
        hubs = _hubs.get(asyncio.get_running_loop(), {})
        if hubs.get(run_id) is hub:
            del hubs[run_id]
        await hub.stop()
