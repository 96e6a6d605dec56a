"""The feed of a run in Redis: bounded, with an epoch, and never in the way when Redis is dead."""

import contextlib
import json
import uuid
from collections.abc import Iterator

import pytest
from django.conf import settings

from ingest.feed import connection, publisher
from ingest.feed.connection import Breaker, client
from ingest.feed.publisher import epoch_key, feed_key, publish


@pytest.fixture
def run_id() -> Iterator[uuid.UUID]:
    """A run that nobody else has; its feed is gone afterwards."""
    key = uuid.uuid4()
    yield key
    client().delete(feed_key(key), epoch_key(key), f"{feed_key(key)}:bytes")


@contextlib.contextmanager
def redis_dead() -> Iterator[None]:
    """Redis is not where it should be; afterwards it is again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "REDIS_URL", "unix:///nowhere/redis.sock")
        client.cache_clear()
        yield
    client.cache_clear()


@pytest.fixture(autouse=True)
def own_breaker(monkeypatch: pytest.MonkeyPatch) -> Breaker:
    """A breaker that no other test has opened."""
    monkeypatch.setattr(publisher, "breaker", Breaker())
    return publisher.breaker


def entries(run_id: uuid.UUID) -> list[dict[bytes, bytes]]:
    """The fields of all entries."""
    return [fields for _, fields in client().xrange(feed_key(run_id))]


def test_an_entry_carries_frames_and_numbers(run_id: uuid.UUID) -> None:
    assert publish(run_id, b"frames", {7: [[0, 9], [12, 12]]})
    assert publish(run_id, b"more")
    first, second = entries(run_id)
    assert (first[b"f"], json.loads(first[b"n"])) == (b"frames", {"7": [[0, 9], [12, 12]]})
    assert second == {b"f": b"more"}


def test_a_feed_has_one_epoch_for_its_life_and_another_for_the_next(run_id: uuid.UUID) -> None:
    publish(run_id, b"a")
    epoch = client().get(epoch_key(run_id))
    publish(run_id, b"b")
    assert client().get(epoch_key(run_id)) == epoch
    assert 0 < int(epoch or 0) < 1 << 53
    client().delete(epoch_key(run_id), feed_key(run_id))
    publish(run_id, b"c")
    assert client().get(epoch_key(run_id)) != epoch


def test_a_feed_expires_when_nothing_is_said_for_a_quarter_of_an_hour(run_id: uuid.UUID) -> None:
    publish(run_id, b"a")
    for key in (feed_key(run_id), epoch_key(run_id)):
        assert 800 < client().ttl(key) <= 900


def test_a_feed_is_bounded_in_entries(run_id: uuid.UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "MAX_ENTRIES", 100)
    for place in range(1000):
        publish(run_id, b"%d" % place)
    kept = entries(run_id)
    assert len(kept) <= 250  # Redis trims whole blocks
    assert kept[-1][b"f"] == b"999"


def test_a_feed_is_bounded_in_bytes_and_keeps_the_newest(run_id: uuid.UUID) -> None:
    for place in range(40):
        publish(run_id, bytes([place]) * (1 << 20))
    kept = entries(run_id)
    assert sum(len(fields[b"f"]) for fields in kept) <= publisher.MAX_BYTES
    assert [fields[b"f"][0] for fields in kept] == list(range(40 - len(kept), 40))
    assert len(kept) >= 5


def test_nothing_is_published_where_there_is_nothing_to_say(run_id: uuid.UUID) -> None:
    assert publish(run_id, b"")
    assert entries(run_id) == []


def test_a_dead_redis_is_no_error_and_is_left_alone_for_a_while(
    run_id: uuid.UUID, own_breaker: Breaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with redis_dead():
        assert not publish(run_id, b"a")
    assert own_breaker.open

    def unreachable() -> None:
        raise AssertionError("asked although it is being left alone")

    with monkeypatch.context() as patch:
        patch.setattr(publisher, "client", unreachable)
        assert not publish(run_id, b"b")


def test_a_redis_that_came_back_is_used_again(run_id: uuid.UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PAUSE_S", 0.0)
    with redis_dead():
        assert not publish(run_id, b"a")
    assert publish(run_id, b"b")
    assert [fields[b"f"] for fields in entries(run_id)] == [b"b"]
