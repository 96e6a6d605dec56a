"""The connection of the feed's writers to Redis: short patience, and a pause after each failure."""

import functools
import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import redis
from django.conf import settings

_TIMEOUT_S = 0.5
# How long Redis is left alone after a failure: short enough that live is back within 2 s of it.
_PAUSE_S = 1.0
_log = logging.getLogger(__name__)
T = TypeVar("T")


@functools.cache
def client() -> redis.Redis:
    """This process's client; every call gives up after half a second."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S, retry=None
    )


class Breaker:
    """Lets calls through while they succeed; after a failure none for `_PAUSE_S` seconds. Threads may share it."""

    def __init__(self) -> None:
        """Start closed: calls pass."""
        self._closed_until = 0.0
        self._lock = threading.Lock()

    @property
    def open(self) -> bool:
        """Whether calls are being held back."""
        return time.monotonic() < self._closed_until

    def call(self, action: Callable[[], T]) -> T | None:
        """The action's result, or None where Redis is dead or was a moment ago; never raises for Redis's sake."""
        if self.open:
            return None
        try:
            return action()
        except (redis.RedisError, OSError) as error:
            with self._lock:
                if not self.open:
                    _log.warning("The live feed waits: Redis does not answer (%s).", error)
                self._closed_until = time.monotonic() + _PAUSE_S
            return None


breaker = Breaker()
