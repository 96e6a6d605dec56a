"""Who may watch a run, and what a browser may say: everyone else is refused, and told nothing."""

import asyncio
import base64
import json
import uuid
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from dashboard.teams.models import Membership
from tests.cast import Cast, browser_of, make_cast
from tests.dashboard.live.stage import Stage
from tests.dashboard.live.watcher import Watcher, act, until


@pytest.fixture
def people(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def stage(people: Cast) -> Stage:
    stage = Stage(people.team)
    stage.happen(stage.worker("trainer-0"), 3)
    return stage


def cookie(user: Any) -> dict[str, str]:
    return {"Cookie": f"sessionid={browser_of(user).cookies['sessionid'].value}"}


def opening(web: str, run_id: Any, headers: dict[str, str], origin: str | None = None) -> Any:
    address = f"ws://{urlsplit(web).netloc}/ws/runs/{run_id}/"
    return connect(address, origin=origin or web, additional_headers=headers)


async def close_code(socket: ClientConnection) -> int | None:
    """The code that the server closes with, whatever it says before."""
    try:
        async with asyncio.timeout(20):
            while True:
                await socket.recv()
    except ConnectionClosed:
        return socket.close_code


async def test_a_page_of_another_origin_is_refused(web: str, people: Cast, stage: Stage) -> None:
    headers = await act(cookie, people.owner)
    with pytest.raises(InvalidStatus) as refused:
        await opening(web, stage.run.pk, headers, origin="https://elsewhere.example")
    assert refused.value.response.status_code == 403


async def test_a_visitor_without_a_session_is_refused(web: str, stage: Stage) -> None:
    async with opening(web, stage.run.pk, {}) as socket:
        assert await close_code(socket) == 4401


async def test_a_made_up_session_is_refused(web: str, stage: Stage) -> None:
    async with opening(web, stage.run.pk, {"Cookie": "sessionid=" + "a" * 32}) as socket:
        assert await close_code(socket) == 4401


async def test_another_teams_run_is_not_found_and_looks_like_one_that_never_was(
    web: str, people: Cast, stage: Stage
) -> None:
    headers = await act(cookie, people.stranger)
    for run_id in (stage.run.pk, uuid.uuid4()):
        async with opening(web, run_id, headers) as socket:
            assert await close_code(socket) == 4404


async def test_who_leaves_the_team_cannot_come_back(web: str, people: Cast, stage: Stage) -> None:
    headers = await act(cookie, people.member)
    async with opening(web, stage.run.pk, headers) as socket:
        await socket.recv()
    await act(Membership.objects.filter(user=people.member).delete)
    async with opening(web, stage.run.pk, headers) as socket:
        assert await close_code(socket) == 4404


async def test_nothing_of_the_run_is_sent_before_hello(web: str, people: Cast, stage: Stage) -> None:
    async with opening(web, stage.run.pk, await act(cookie, people.owner)) as socket:
        await act(stage.happen, stage.parts[0], 2)
        said = [await socket.recv() for _ in range(3)]
        assert all(isinstance(each, str) and json.loads(each).keys() == {"now_ns"} for each in said)


BOMB = base64.b64encode(zlib.compress(b"[" + b"1," * 4_000_000)).decode()


@pytest.mark.parametrize(
    "said",
    [
        "hello", "[]", "7", "{", "[" * 100_000, b"\x00\x01", '{"hello": 7}', '{"hello": {}}', '{"ack": -1}',
        '{"ack": 1.5}', '{"ack": true}', '{"ack": "1"}', '{"ack": 999}', '{"ack": 1e400}',
        '{"hello": {"epoch": 1, "last": 2}}', '{"hello": {"epoch": "-1", "last": "0"}}',
        '{"hello": {"epoch": "18446744073709551616", "last": "0"}}', '{"hello": {"epoch": "१", "last": "0"}}',
        '{"hello": {"epoch": "1", "last": "1", "base": "not ours"}}',
        '{"hello": {"epoch": "1", "last": "1", "base": 7}}',
        json.dumps({"hello": {"epoch": "1", "last": "1", "base": BOMB}}),
    ],
    ids=lambda said: str(said)[:44],
)  # fmt: skip
async def test_what_no_page_of_ours_says_closes_the_socket(
    web: str, people: Cast, stage: Stage, said: str | bytes
) -> None:
    async with opening(web, stage.run.pk, await act(cookie, people.owner)) as socket:
        await socket.send(said)
        assert await close_code(socket) == 4400


async def test_words_of_a_later_version_are_passed_over(web: str, people: Cast, stage: Stage) -> None:
    async with opening(web, stage.run.pk, await act(cookie, people.owner)) as socket:
        await socket.send('{"tiles": {"level": 3}}')
        await socket.send('{"hello": {"epoch": "0", "last": "0"}}')
        while isinstance(await socket.recv(), str):
            pass


@pytest.mark.parametrize(
    ("said", "times"),
    [
        ("{}", 5_000),
        ('{"hello": {"epoch": "0", "last": "0"}}', 10),
        (r'{"h\u0065llo": {"epoch": "0", "last": "0"}}', 10),
    ],
)
async def test_too_many_words_close_the_socket_and_a_hello_counts_as_many(
    web: str, people: Cast, stage: Stage, said: str, times: int
) -> None:
    async with opening(web, stage.run.pk, await act(cookie, people.owner)) as socket:
        with suppress(ConnectionClosed):
            for _ in range(times):
                await socket.send(said)
        assert await close_code(socket) == 1008


async def test_more_than_any_page_says_at_once_closes_the_socket(web: str, people: Cast, stage: Stage) -> None:
    async def endless() -> AsyncIterator[str]:
        for _ in range(1_000):
            yield '{"tiles": "' + "x" * 10_000

    async with opening(web, stage.run.pk, await act(cookie, people.owner)) as socket:
        with suppress(ConnectionClosed):
            await socket.send(endless())
        # The connection may be gone before the reason could be read.
        assert await close_code(socket) in {1006, 1009}


async def test_others_see_everything_while_some_rage(web: str, people: Cast, stage: Stage) -> None:
    headers = await act(cookie, people.owner)

    async def rage(number: int) -> None:
        base = '{"hello": {"epoch": "9", "last": "9", "base": "x"}}'
        said: list[str | bytes] = ["[" * 100_000, b"\0" * 100_000, '{"ack": 7}', base]
        async with opening(web, stage.run.pk, headers) as socket:
            try:
                while True:
                    await socket.send(said[number % len(said)])
                    await asyncio.sleep(0)
            except ConnectionClosed:
                pass

    async with await act(Watcher, web, people.viewer, stage.run.pk) as watcher:
        raging = [asyncio.create_task(rage(number)) for number in range(12)]
        for _ in range(5):
            await act(stage.happen, stage.parts[0], 3)
        await until(lambda: len(watcher.spans) == 18)
        await asyncio.gather(*raging)
        assert set(watcher.spans.values()) == {1}


@pytest.fixture
def paths(stage: Stage) -> Iterator[list[str]]:
    base = f"/runs/{stage.run.pk}/live"
    return [f"{base}/snapshot", f"{base}/spans?from_ns=0&to_ns=9", f"{base}/phase?attempt=0&start=0"]


def test_data_is_refused_to_visitors_with_json_and_without_a_redirect(web: str, paths: list[str]) -> None:
    for path in paths:
        answer = httpx.get(web + path)
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "not_signed_in"


def test_data_of_another_team_is_not_found(web: str, people: Cast, paths: list[str]) -> None:
    for path in paths:
        answer = httpx.get(web + path, headers=cookie(people.stranger))
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"


def test_the_page_asks_visitors_to_sign_in_and_does_not_exist_for_strangers(
    web: str, people: Cast, stage: Stage
) -> None:
    page = f"{web}/runs/{stage.run.pk}/"
    visitor = httpx.get(page)
    assert visitor.status_code == 302
    assert "login" in visitor.headers["location"]
    assert httpx.get(page, headers=cookie(people.stranger)).status_code == 404
    assert httpx.get(page, headers=cookie(people.viewer)).status_code == 200


@pytest.mark.parametrize("query", ["rounds=-1", "rounds=x", "from_ns=1.5", "to_ns=" + "9" * 30, "from_ns=%00"])
def test_a_query_that_no_page_asks_is_refused_with_its_field(web: str, people: Cast, stage: Stage, query: str) -> None:
    answer = httpx.get(f"{web}/runs/{stage.run.pk}/live/snapshot?{query}", headers=cookie(people.owner))
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == query.split("=", maxsplit=1)[0]


def test_a_snapshot_cannot_be_posted(web: str, people: Cast, stage: Stage) -> None:
    answer = httpx.post(f"{web}/runs/{stage.run.pk}/live/snapshot", headers=cookie(people.owner))
    assert answer.status_code in {403, 405}
