"""A hub keeps its promises while Redis dies and comes back, while viewers crowd in, and while one of them sleeps."""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from dashboard.live import hub as hubs
from dashboard.live.ending import end
from dashboard.live.numbers import from_text
from dashboard.live.snapshot import MOST_SPANS, Ask, snapshot
from dashboard.live.viewer import Hello, RunGoneError
from dashboard.live.window import MAX_BYTES
from ingest.feed import connection as feed_connection
from ingest.feed import messages, publisher
from ingest.feed.frames import FrameType, decode
from ingest.models import Run
from tests.cast import make_cast
from tests.dashboard.live.stage import Stage
from tests.dashboard.live.watcher import Watcher, act, until
from tests.own_valkey import OwnValkey


@pytest.fixture
def valkey(settings: Any) -> Iterator[OwnValkey]:
    with tempfile.TemporaryDirectory(prefix="rw", dir="/tmp") as folder:
        own = OwnValkey(Path(folder))
        own.start()
        settings.REDIS_URL = own.url
        feed_connection.client.cache_clear()
        yield own
        own.kill()
        feed_connection.client.cache_clear()


@pytest.fixture
def stage(quiet: None) -> Stage:
    stage = Stage(make_cast().team)
    stage.worker("coordinator", role="coordinator")
    stage.worker("trainer-0")
    return stage


class Inside(Watcher):
    """A viewer of a hub in this very process: what a `Watcher` is, without a socket."""

    def __init__(self, run_id: Any) -> None:
        super().__init__("", None, run_id)
        self.hub, self.viewer = hubs.enter(run_id)

    async def __aenter__(self) -> Self:
        await self.load()
        await self.hello()
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *exception: object) -> None:
        assert self._task
        await end([self._task])
        await hubs.leave(self.run_id, self.hub, self.viewer)

    async def load(self) -> None:
        self.forget()
        self.take(b"".join(await act(snapshot, self.run_id, Ask(spans=MOST_SPANS))))

    async def hello(self) -> None:
        await self.hub.join(self.viewer, Hello(*self.cursor, from_text(self.base)))

    async def _watch(self) -> None:
        while True:
            message = await self.viewer.next()
            self.messages += 1
            if any(kind is FrameType.RESYNC for kind, _ in decode(message)):
                self.resyncs += 1
                await self.load()
                await self.hello()
                continue
            self.take(message)
            if self.drawing:
                self.viewer.acknowledge(self.messages)


def shown(*spans: messages.Spans) -> set[tuple[int, int]]:
    return {pair for each in spans for pair in zip(each.attempt.tolist(), each.start_number.tolist(), strict=True)}


async def published(stage: Stage, count: int) -> messages.Spans:
    """Stored, and published as soon as the publisher tries Redis again."""
    spans = await act(stage.spans, stage.parts[1], count)
    await act(stage.store, stage.parts[1], spans)
    while not await act(stage.publish, stage.parts[1], spans):  # noqa: ASYNC110 - nobody tells when Redis is back
        await asyncio.sleep(0.05)
    return spans


async def test_while_redis_is_dead_live_goes_on_from_postgres_alone(stage: Stage, valkey: OwnValkey) -> None:
    before = await published(stage, 3)
    async with Inside(stage.run.pk) as watcher:
        await until(lambda: watcher.messages > 0)
        valkey.kill()
        spans = await act(stage.spans, stage.parts[0], 3)
        await act(stage.store, stage.parts[0], spans)
        start = await act(stage.opened, stage.parts[0], "encode")
        await until(lambda: set(watcher.spans) == shown(before, spans) and watcher.open.get(0) == {start})
        assert watcher.resyncs == 0
        valkey.start()
        after = await published(stage, 2)
        await until(lambda: watcher.resyncs == 1 and set(watcher.spans) == shown(before, spans, after))


async def test_a_viewer_that_comes_while_redis_is_dead_is_brought_into_step_with_the_feed_later(
    stage: Stage, valkey: OwnValkey
) -> None:
    before = await published(stage, 3)
    valkey.kill()
    async with Inside(stage.run.pk) as watcher:
        spans = await act(stage.spans, stage.parts[0], 3)
        await act(stage.store, stage.parts[0], spans)
        await until(lambda: set(watcher.spans) == shown(before, spans))
        assert watcher.cursor == (0, 0)
        valkey.start()
        after = await published(stage, 2)
        await until(lambda: watcher.resyncs >= 1 and set(watcher.spans) == shown(before, spans, after))
        await until(lambda: watcher.cursor[0] > 0)


async def test_an_entry_that_is_no_frame_costs_a_snapshot(stage: Stage, valkey: OwnValkey) -> None:
    before = await published(stage, 3)
    async with Inside(stage.run.pk) as watcher:
        await until(lambda: watcher.messages > 0)
        await act(publisher.publish, stage.run.pk, b"garbage" * 99)
        await until(lambda: watcher.resyncs >= 1)
        after = await published(stage, 2)
        await until(lambda: set(watcher.spans) == shown(before, after))


async def test_viewers_that_crowd_in_amid_the_news_are_shown_each_span_once(stage: Stage, valkey: OwnValkey) -> None:
    told = [await published(stage, 2)]
    crowd = [Inside(stage.run.pk) for _ in range(8)]

    async def enter(watcher: Inside) -> None:
        await watcher.__aenter__()

    entering = [asyncio.create_task(enter(watcher)) for watcher in crowd]
    told += [await published(stage, 2) for _ in range(12)]
    await asyncio.gather(*entering)
    for watcher in crowd:
        await until(lambda watcher=watcher: set(watcher.spans) == shown(*told))
        assert watcher.resyncs == 0
        await watcher.__aexit__()


async def test_one_sleeping_viewer_costs_others_nothing_and_little_memory(stage: Stage, valkey: OwnValkey) -> None:
    async with Inside(stage.run.pk) as awake, Inside(stage.run.pk) as asleep:
        await until(lambda: asleep.messages > 0)
        asleep.drawing = False
        told = []
        for _ in range(12):
            told.append(await published(stage, 10_000))
            await until(lambda: set(awake.spans) == shown(*told))
        assert awake.hub is asleep.hub
        assert awake.hub.window.size <= MAX_BYTES
        assert awake.resyncs == 0
        asleep.drawing = True
        asleep.viewer.acknowledge(asleep.messages)
        await until(lambda: set(asleep.spans) == shown(*told))


async def test_a_stream_of_news_makes_at_most_ten_messages_a_second(stage: Stage, valkey: OwnValkey) -> None:
    async with Inside(stage.run.pk) as watcher:
        await until(lambda: watcher.messages > 0)
        began, before = time.monotonic(), watcher.messages
        told = [await published(stage, 1) for _ in range(60)]
        await until(lambda: set(watcher.spans) == shown(*told))
        assert watcher.messages - before <= 10 * (time.monotonic() - began) + 2


async def test_viewers_at_the_same_place_share_the_same_bytes(stage: Stage, valkey: OwnValkey) -> None:
    async with Inside(stage.run.pk) as one, Inside(stage.run.pk):
        await until(lambda: one.messages > 0)
        place = one.hub.window.newest
        await published(stage, 5)
        await until(lambda: one.hub.window.newest > place)
        assert one.hub.window.after(place, in_step=True) is one.hub.window.after(place, in_step=True)


async def test_a_base_is_said_only_for_what_was_sent(stage: Stage, valkey: OwnValkey) -> None:
    async with Inside(stage.run.pk) as watcher:
        spans = await published(stage, 4)
        await until(lambda: set(watcher.spans) == shown(spans))
        await until(lambda: bool(watcher.hub.base_for(watcher.viewer)))
        assert from_text(watcher.hub.base_for(watcher.viewer)) == {stage.parts[1].stream.pk: [(0, 7)]}
        late = Inside(stage.run.pk)
        await late.load()
        await late.hello()
        assert late.hub.base_for(late.viewer) == ""
        await hubs.leave(late.run_id, late.hub, late.viewer)


async def test_the_last_viewer_ends_the_hub(stage: Stage, valkey: OwnValkey) -> None:
    before = asyncio.all_tasks()
    async with Inside(stage.run.pk) as watcher:
        hub = watcher.hub
    assert asyncio.all_tasks() == before
    again, viewer = hubs.enter(stage.run.pk)
    assert again is not hub
    await hubs.leave(stage.run.pk, again, viewer)
    assert asyncio.all_tasks() == before


async def test_too_much_to_send_is_a_snapshot(stage: Stage, valkey: OwnValkey) -> None:
    async with Inside(stage.run.pk) as watcher:
        await until(lambda: watcher.messages > 0)
        spans = await act(stage.spans, stage.parts[0], 40_000)
        await act(stage.store, stage.parts[0], spans)
        await until(lambda: set(watcher.spans) == shown(spans))
        assert watcher.resyncs == 1


async def test_a_deleted_run_ends_what_its_viewers_wait_for(stage: Stage, valkey: OwnValkey) -> None:
    async with Inside(stage.run.pk) as watcher:
        await until(lambda: watcher.messages > 0)
        await act(Run.objects.filter(pk=stage.run.pk).delete)
        task = watcher._task
        assert task
        await until(task.done)
        assert isinstance(task.exception(), RunGoneError)
