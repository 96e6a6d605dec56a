"""Tokens at the door: asked for once, believed for a while without a database, and never crowded out."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError

from dashboard.teams.tokens import issue
from ingest.api import auth, lookups
from ingest.api.auth import TokenInfo
from ingest.api.lookups import Lookups
from ingest.api.outage import Outage
from ingest.store.arrivals import Fault
from ingest.store.known import Known
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)


class Database:
    """The real look-up, held up or cut off on its way: what was asked, and with which outcome."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.dead = False
        self.began = threading.Semaphore(0)
        self.answers = threading.Event()
        self.answers.set()
        self._look_up = auth.look_up

    def look_up(self, digest: bytes) -> TokenInfo | None:
        self.asked.append(digest)
        self.began.release()
        assert self.answers.wait(timeout=20)
        if self.dead:
            raise OperationalError
        return self._look_up(digest)

    async def is_asked(self) -> bool:
        """Whether something is looked up within some seconds."""
        return await asyncio.to_thread(self.began.acquire, timeout=20)


@pytest.fixture
def good(cast: Cast) -> bytes:
    """The hash of a token that may ingest."""
    digest = auth.digest_of(f"Bearer {issue(cast.team, 'agent', ['ingest'])}")
    assert digest
    return digest


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    auth.forget()
    database = Database()
    monkeypatch.setattr(auth, "look_up", database.look_up)
    yield database
    database.answers.set()
    auth.forget()


@pytest.fixture
def finder(database: Database) -> Iterator[Lookups]:
    found = Lookups(Outage())
    yield found
    database.answers.set()
    found.close()


async def status(asking: asyncio.Task[TokenInfo | None]) -> int:
    """The status of a refusal, 200 for none."""
    try:
        await asking
    except Fault as fault:
        return fault.status
    return 200


async def test_many_requests_with_one_token_ask_once_also_when_the_first_leaves(
    database: Database, finder: Lookups, good: bytes
) -> None:
    database.answers.clear()
    asking = [asyncio.create_task(finder.find(good)) for _ in range(20)]
    assert await database.is_asked()
    asking[0].cancel()
    database.answers.set()
    answers = await asyncio.gather(*asking[1:])
    assert all(token and token.may("ingest") for token in answers)
    assert database.asked == [good]


async def test_a_token_in_use_is_looked_up_again_before_it_has_to_be_and_nobody_waits_for_that(
    database: Database, finder: Lookups, good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await finder.find(good)
    assert await database.is_asked()
    monkeypatch.setattr(auth, "_REFRESH_S", 0.0)
    database.answers.clear()
    for _ in range(3):
        assert await asyncio.wait_for(finder.find(good), 10)
    assert await database.is_asked()
    database.answers.set()
    assert database.asked == [good, good]


async def test_a_token_found_lately_is_good_while_the_database_is_down_and_not_for_longer_than_30_s(
    database: Database, finder: Lookups, good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await finder.find(good)
    database.dead = True
    monkeypatch.setattr(auth, "_REMEMBER_S", 0.0)
    assert await finder.find(good)
    monkeypatch.setattr(auth, "_REMEMBER_UNASKED_S", 0.0)
    assert await status(asyncio.create_task(finder.find(good))) == 503


async def test_a_dead_database_is_asked_once_for_all(database: Database, finder: Lookups) -> None:
    database.dead = True
    database.answers.clear()
    asking = [asyncio.create_task(finder.find(bytes([place]))) for place in range(10)]
    assert await database.is_asked()
    database.answers.set()
    assert await asyncio.gather(*map(status, asking)) == [503] * 10
    assert len(database.asked) == 1


async def test_what_the_writers_found_out_is_not_asked_again(database: Database, good: bytes) -> None:
    outage = Outage()
    outage.begin()
    finder = Lookups(outage)
    assert await status(asyncio.create_task(finder.find(good))) == 503
    assert database.asked == []
    finder.close()


async def test_beyond_so_many_waiting_tokens_others_come_again_later(
    database: Database, finder: Lookups, good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "_MOST_WAITING", 2)
    database.answers.clear()
    asking = [asyncio.create_task(finder.find(bytes([place]))) for place in range(2)]
    assert await database.is_asked()
    assert await status(asyncio.create_task(finder.find(good))) == 503
    database.answers.set()
    assert await asyncio.gather(*asking) == [None, None]
    assert await finder.find(good)


def test_made_up_tokens_do_not_push_out_good_ones(good: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "_seen", Known[bytes, auth.Remembered](3))
    monkeypatch.setattr(auth, "_unknown", Known[bytes, auth.Remembered](3))
    auth.look_up(good)
    for place in range(5):
        assert auth.look_up(bytes([place])) is None
    known = auth.remembered(good)
    assert known is not None
    assert known.token is not None
    assert [auth.remembered(bytes([place])) is None for place in range(5)] == [True, True, False, False, False]
