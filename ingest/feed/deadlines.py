"""When each run's open phases are to be looked at next: a sorted set in Redis, which may be lost at any time.

Scores are Unix seconds. One deadline a run is kept, the earliest: whoever looks at a run looks at all of its open
phases, and then says when to look again.
"""

import time
from collections.abc import Sequence
from uuid import UUID

from ingest.feed.connection import breaker, client

KEY = "rw:deadlines"
_MOST_DUE = 200  # runs taken at a time
_EVERY_S = 0.2  # how often one process says that a run has news
_MOST_TOLD = 10_000

# Taken and removed in one step. What is taken by a watcher that dies is found by the scan of the database.
_TAKE = """
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
if #due > 0 then redis.call('ZREM', KEYS[1], unpack(due)) end
return due
"""
_told: dict[UUID, float] = {}


def look_at(run_id: UUID, at_s: float) -> bool:
    """Have the run looked at by `at_s`, earlier if that is planned already; returns whether Redis took it."""
    return breaker.call(lambda: client().zadd(KEY, {str(run_id): at_s}, lt=True)) is not None


def tell_news(run_id: UUID) -> None:
    """Have the run looked at now, since a phase of it has ended; said a few times a second at most."""
    now = time.monotonic()
    if now - _told.get(run_id, -_EVERY_S) < _EVERY_S:
        return
    if len(_told) >= _MOST_TOLD:
        _told.clear()
    _told[run_id] = now
    # The last news within that time must not be missed: they are looked at a moment later as well.
    look_at(run_id, time.time() + _EVERY_S)


def take_due(now_s: float) -> Sequence[UUID]:
    """The runs to be looked at by `now_s`, which are no longer planned; none where Redis is dead."""
    found = breaker.call(lambda: client().eval(_TAKE, 1, KEY, now_s, _MOST_DUE))
    return [UUID(one.decode()) for one in found or ()]
