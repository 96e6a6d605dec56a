"""Reading a run's feed from Redis: the epoch and what follows a position, always together in one MULTI."""

from dataclasses import dataclass, field
from typing import Self
from uuid import UUID

import msgspec
import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from dashboard.live.frames import Part, parse
from dashboard.live.numbers import Numbers, normal
from ingest.feed.publisher import epoch_key, feed_key

__all__ = ["Entry", "Feed", "Reading", "RedisError", "newest"]

_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the feed; `numbers` are the stream numbers that it tells of."""

    position: int
    part: Part
    numbers: Numbers = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """The feed after some position, oldest first. `epoch` is 0 where there is no feed.

    `whole` says that nothing between that position and the first entry has been trimmed or lost; `more` that there are
    further entries than these.
    """

    epoch: int
    whole: bool
    entries: list[Entry]
    more: bool

    @property
    def last(self) -> int | None:
        """Position of the last entry, if there is one."""
        return self.entries[-1].position if self.entries else None


def position_of(entry_id: bytes | str) -> int:
    """A Redis entry id ("milliseconds-sequence") as the cursor of the frames."""
    text = entry_id.decode() if isinstance(entry_id, bytes) else entry_id
    milliseconds, sequence = text.split("-")
    return int(milliseconds) << 20 | int(sequence)


def entry_id(position: int) -> str:
    """The inverse of `position_of`."""
    return f"{position >> 20}-{position & 0xFFFFF}"


def newest(run_id: UUID) -> tuple[int, int]:
    """Epoch and position of the newest entry, read in one MULTI; (0, 0) where there is no feed or Redis is away."""
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1) as client:
            client.set_retry(redis.retry.Retry(NoBackoff(), 0))
            pipe = client.pipeline(transaction=True)
            pipe.get(epoch_key(run_id))
            pipe.xrevrange(feed_key(run_id), count=1)
            epoch, entries = pipe.execute()
    except RedisError:
        return 0, 0
    return (int(epoch), position_of(entries[0][0])) if epoch and entries else (int(epoch or 0), 0)


class Feed:
    """One reader of one run's feed. Every call raises RedisError when Redis does not answer in time."""

    def __init__(self, run_id: UUID) -> None:
        self._feed, self._epoch = feed_key(run_id), epoch_key(run_id)
        self._client = redis.asyncio.Redis.from_url(
            settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=1, retry=Retry(NoBackoff(), 0)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._client.aclose()

    async def wait(self, position: int, seconds: float) -> None:
        """Return when there is something after `position`, or after some `seconds` (below 2)."""
        await self._client.xread({self._feed: entry_id(position)}, count=1, block=int(seconds * 1000))

    async def read(self, position: int) -> Reading:
        """What follows `position`, at most 500 entries of it."""
        pipe = self._client.pipeline(transaction=True)
        pipe.get(self._epoch)
        # The entry at the position itself proves that none after it is missing: trimming begins with the oldest.
        pipe.xrange(self._feed, min=entry_id(position), count=_AT_ONCE + 1)
        if position == 0:
            pipe.xinfo_stream(self._feed)
        epoch, found, *about = await pipe.execute(raise_on_error=False)
        for answer in (epoch, found):
            if isinstance(answer, Exception):
                raise answer
        if position == 0:
            # Redis has no answer but an error for a stream that does not exist.
            whole = isinstance(about[0], Exception) or about[0]["entries-added"] == about[0]["length"]
        else:
            whole = bool(found) and position_of(found[0][0]) == position
            found = found[1:] if whole else found
        return Reading(int(epoch or 0), whole, [_entry(*item) for item in found], len(found) >= _AT_ONCE)

    async def newest(self) -> tuple[int, int]:
        """Epoch and position of the newest entry; (0, 0) where there is no feed."""
        pipe = self._client.pipeline(transaction=True)
        pipe.get(self._epoch)
        pipe.xrevrange(self._feed, count=1)
        epoch, found = await pipe.execute()
        return int(epoch or 0), position_of(found[0][0]) if found else 0


def _entry(name: bytes, fields: dict[bytes, bytes]) -> Entry:
    raw: dict[str, list[list[int]]] = msgspec.json.decode(fields.get(b"n", b"{}"))
    numbers = {int(stream): normal((first, last) for first, last in ranges) for stream, ranges in raw.items()}
    return Entry(position_of(name), parse(fields.get(b"f", b"")), numbers)
