"""Valkey loses everything it holds, and has no room for more."""

import random
import time

import redis

from dashboard.project.datadir import DataFolder
from tests.faults.stage import Stage

Times = dict[str, float]


def _client(stage: Stage) -> redis.Redis:
    return redis.Redis.from_url(DataFolder(stage.product.data).redis_url, socket_timeout=5)


def flushed(stage: Stage, rng: random.Random) -> Times:
    """FLUSHALL, one to three times in a row."""
    one = stage.current(near=True)
    with _client(stage) as client:
        for _ in range(rng.randint(1, 3)):
            client.flushall()
            time.sleep(rng.uniform(0, 0.5))  # this is the fault itself
    lost = time.monotonic()
    index = one.newest_round()
    return {"live": one.await_shown(30) - lost, "tasks": one.await_judged_beyond(index + 1) - lost}


def full(stage: Stage, rng: random.Random) -> Times:
    """It refuses whatever needs memory, for some seconds."""
    one = stage.current(near=True)
    with _client(stage) as client:
        before = {name: client.config_get(name)[name] for name in ("maxmemory", "maxmemory-policy")}
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "1")
        try:
            time.sleep(rng.uniform(2, 6))  # this is the fault itself
            one.await_shown(30)  # nobody needs Redis to see what is stored
        finally:
            for name, value in before.items():
                client.config_set(name, value)
    healed = time.monotonic()
    return {"live": one.await_shown(30) - healed, "tasks": one.await_judged_beyond(one.newest_round()) - healed}
