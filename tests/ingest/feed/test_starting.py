"""Tasks are started by name; where too many wait already, or Redis is dead, the watcher's scan asks again later."""

from collections.abc import Iterator

import pytest
from django.conf import settings

from ingest.feed import starting
from ingest.feed.connection import Breaker, client
from ingest.feed.starting import QUEUE, start


@pytest.fixture(autouse=True)
def empty_queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No task waits, before and after; no other test has opened the breaker."""
    monkeypatch.setattr(starting, "breaker", Breaker())
    client().delete(QUEUE)
    yield
    client().delete(QUEUE)


def test_a_task_waits_for_celery_by_its_name() -> None:
    assert start("ingest.judge_round", "a run", 3, 0)
    assert client().llen(QUEUE) == 1
    assert b"ingest.judge_round" in client().lindex(QUEUE, 0)


def test_where_too_many_wait_no_more_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "MOST_WAITING", 3)
    assert [start("ingest.judge_round", "a run", index, 0) for index in range(5)] == [True] * 3 + [False] * 2
    assert client().llen(QUEUE) == 3


def test_a_dead_redis_takes_no_task_and_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "unix:///nowhere/redis.sock")
    client.cache_clear()
    try:
        assert not start("ingest.judge_round", "a run", 3, 0)
    finally:
        monkeypatch.undo()
        client.cache_clear()
