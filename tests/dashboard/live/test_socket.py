"""What a browser sees over the socket: everything, once it is stored, whatever happens to the feed."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings

from ingest.feed import messages, publisher
from ingest.models import Finding, Round, Run, Stream, Worker
from tests.cast import Cast, make_cast
from tests.dashboard.live.stage import Stage
from tests.dashboard.live.watcher import Watcher, act, until


@pytest.fixture
def people(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def stage(people: Cast) -> Stage:
    stage = Stage(people.team)
    stage.worker("coordinator", role="coordinator")
    stage.worker("trainer-0")
    return stage


@pytest.fixture
def valkey() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        yield client


@pytest.fixture
def watcher(web: str, people: Cast, stage: Stage) -> Watcher:
    return Watcher(web, people.owner, stage.run.pk)


def shown(*spans: messages.Spans) -> set[tuple[int, int]]:
    return {pair for each in spans for pair in zip(each.attempt.tolist(), each.start_number.tolist(), strict=True)}


async def test_spans_published_once_reach_two_viewers(web: str, people: Cast, stage: Stage, watcher: Watcher) -> None:
    before = await act(stage.happen, stage.parts[0], 5)
    other = await act(Watcher, web, people.viewer, stage.run.pk)
    async with watcher, other:
        assert set(watcher.spans) == shown(before)
        after = await act(stage.happen, stage.parts[1], 7)
        for each in (watcher, other):
            await until(lambda each=each: set(each.spans) == shown(before, after))
            assert each.resyncs == 0


async def test_the_first_words_of_a_new_run_need_no_second_snapshot(stage: Stage, watcher: Watcher) -> None:
    async with watcher:
        await until(lambda: watcher.beats.keys() == {0, 1})
        spans = await act(stage.happen, stage.parts[0], 3)
        await until(lambda: set(watcher.spans) == shown(spans) and watcher.cursor[0] > 0)
        assert watcher.resyncs == 0


async def test_what_was_stored_and_never_published_is_shown_all_the_same(stage: Stage, watcher: Watcher) -> None:
    async with watcher:
        told = await act(stage.happen, stage.parts[0], 2)
        untold = await act(stage.spans, stage.parts[1], 4)
        await act(stage.store, stage.parts[1], untold)
        await until(lambda: set(watcher.spans) == shown(told, untold))
        assert watcher.resyncs == 0


async def test_what_was_stored_unpublished_between_snapshot_and_hello_is_shown(stage: Stage, watcher: Watcher) -> None:
    await act(stage.happen, stage.parts[0], 2)
    await watcher.load()
    untold = await act(stage.spans, stage.parts[0], 3)
    await act(stage.store, stage.parts[0], untold)
    await act(stage.happen, stage.parts[0], 1)
    await watcher.greet()
    await until(lambda: len(watcher.spans) == 6)
    assert watcher.resyncs == 0
    await watcher.cut()


async def test_a_lost_redis_costs_a_snapshot_and_no_span(stage: Stage, watcher: Watcher, valkey: redis.Redis) -> None:
    before = await act(stage.happen, stage.parts[0], 3)
    async with watcher:
        await until(lambda: watcher.messages > 0)
        await asyncio.to_thread(valkey.flushall)
        untold = await act(stage.spans, stage.parts[1], 3)
        await act(stage.store, stage.parts[1], untold)
        await until(lambda: watcher.resyncs == 1)
        after = await act(stage.happen, stage.parts[1], 2)
        await until(lambda: set(watcher.spans) == shown(before, untold, after))


async def test_an_epoch_that_is_not_the_viewers_asks_for_a_snapshot(stage: Stage, watcher: Watcher) -> None:
    await act(stage.happen, stage.parts[0], 3)
    await watcher.load()
    watcher.cursor = (watcher.cursor[0] ^ 1, watcher.cursor[1])
    await watcher.greet()
    await until(lambda: watcher.resyncs == 1 and watcher.beats.keys() == {0, 1})
    await watcher.cut()


async def test_a_trimmed_feed_asks_for_a_snapshot(stage: Stage, watcher: Watcher, valkey: redis.Redis) -> None:
    first = await act(stage.happen, stage.parts[0], 1)
    await watcher.load()
    rest = [await act(stage.happen, stage.parts[0], 1) for _ in range(3)]
    await asyncio.to_thread(valkey.xtrim, publisher.feed_key(stage.run.pk), maxlen=1, approximate=False)
    await watcher.greet()
    await until(lambda: watcher.resyncs == 1 and set(watcher.spans) == shown(first, *rest))
    await watcher.cut()


async def test_a_browser_that_was_cut_off_goes_on_from_its_cursor(stage: Stage, watcher: Watcher) -> None:
    async with watcher:
        before = await act(stage.happen, stage.parts[0], 2)
        await until(lambda: set(watcher.spans) == shown(before))
        await watcher.cut()
        missed = await act(stage.happen, stage.parts[0], 2)
        untold = await act(stage.spans, stage.parts[1], 2)
        await act(stage.store, stage.parts[1], untold)
        await watcher.greet()
        await until(lambda: set(watcher.spans) == shown(before, missed, untold))
        assert watcher.resyncs == 0


async def test_a_viewer_that_draws_nothing_is_sent_two_messages_and_then_all_in_one(
    stage: Stage, watcher: Watcher
) -> None:
    async with watcher:
        await until(lambda: watcher.messages > 0)
        watcher.drawing = False
        stalled_at = watcher.messages
        told = []
        for _ in range(8):
            told.append(await act(stage.happen, stage.parts[0], 5))
            await asyncio.sleep(0.15)
        assert watcher.messages - stalled_at <= 2
        watcher.drawing = True
        waiting = watcher.messages
        await watcher.ack()
        await until(lambda: set(watcher.spans) == shown(*told))
        assert watcher.messages - waiting <= 2


async def test_a_viewer_that_lags_too_far_is_told_to_load_a_snapshot(stage: Stage, watcher: Watcher) -> None:
    async with watcher:
        await until(lambda: watcher.messages > 0)
        watcher.drawing = False
        told = [await act(stage.happen, stage.parts[0], 20_000) for _ in range(9)]
        await until(lambda: watcher.now_ns > 0)
        watcher.drawing = True
        await watcher.ack()
        await until(lambda: set(watcher.spans) == shown(*told))
        assert watcher.resyncs == 1


async def test_open_phases_are_reread_each_second_without_any_feed(stage: Stage, watcher: Watcher) -> None:
    async with watcher:
        start = await act(stage.opened, stage.parts[1], "encode")
        await until(lambda: watcher.open.get(1) == {start})
        heard = watcher.beats[1]["heard"]
        await act(Stream.objects.filter(pk=stage.parts[1].stream.pk).update, opens=[], opens_number=start + 1)
        await until(lambda: watcher.open.get(1) == set() and watcher.beats[1]["heard"] == heard)


async def test_rounds_states_names_and_findings_are_shown_without_any_feed(stage: Stage, watcher: Watcher) -> None:
    async with watcher:
        await until(lambda: watcher.beats.keys() == {0, 1})
        await act(stage.round, 0)
        await until(lambda: watcher.steps.keys() == {(0, 0)})
        closed = {"closed": True, "end_ns": stage.begin_ns + 10**10, "data_version": 3, "coverage": 0.5}
        await act(Round.objects.filter(run=stage.run).update, **closed)
        await until(lambda: watcher.steps[0, 0]["coverage"] == 0.5)
        await act(Worker.objects.filter(run=stage.run, index=1).update, state="lost", state_reason="silent for 15 s")
        await until(lambda: watcher.meta["lanes"][1]["state"] == "lost" and watcher.beats[1]["state"] == 2)
        await act(stage.worker, "trainer-1")
        await until(lambda: watcher.meta["lanes"].keys() == {0, 1, 2} == watcher.meta["attempts"].keys())
        finding = await act(_finding, stage)
        await until(lambda: watcher.findings.keys() == {str(finding.pk)})
        await act(Finding.objects.update, state="resolved", version=2)
        await until(lambda: watcher.findings[str(finding.pk)]["state"] == "resolved")


async def test_samples_without_a_feed_are_shown_once(stage: Stage, watcher: Watcher) -> None:
    async with watcher:
        series = await act(stage.samples, stage.parts[0], "memory.anon", [1.0, 2.0])
        await until(lambda: {key for key, _ in watcher.samples} == {series.pk} and len(watcher.samples) == 2)
        assert watcher.meta["series"][series.pk]["metric"] == "memory.anon"


async def test_the_socket_of_a_deleted_run_is_closed_as_not_found(stage: Stage, watcher: Watcher) -> None:
    async with watcher:
        await until(lambda: watcher.messages > 0)
        await act(Run.objects.filter(pk=stage.run.pk).delete)
        await until(lambda: watcher.socket is not None and watcher.socket.close_code == 4404)


async def test_the_servers_clock_is_told_without_any_news(watcher: Watcher) -> None:
    async with watcher:
        await until(lambda: watcher.now_ns > 0)
        first = watcher.now_ns
        await until(lambda: watcher.now_ns > first)


def _finding(stage: Stage) -> Any:
    moment = stage.run.started_at
    return Finding.objects.create(
        run=stage.run, kind="straggler", fingerprint="encode", observed="slow", opened_at=moment, updated_at=moment
    )
