"""The only publisher of a run's live feed: appends frames to its Redis stream, bounded in entries, bytes and time."""

import json
import secrets
from collections.abc import Mapping, Sequence
from uuid import UUID

from ingest.feed import messages
from ingest.feed.connection import breaker, client
from ingest.models import Finding

MAX_ENTRIES = 5_000
MAX_BYTES = 16 << 20
EXPIRY_S = 900
_EPOCH_BITS = 53  # JavaScript holds no larger integer exactly

Numbers = Mapping[int, Sequence[Sequence[int]]]

# Epoch and entry appear together, so that a reader never meets an entry without its epoch. A stream that
# outgrew its bytes loses its older half: its length in bytes is counted beside it, as Redis does not tell it
# cheaply.
_APPEND = """
redis.call('SET', KEYS[2], ARGV[1], 'NX', 'EX', ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
local fields = {'f', ARGV[3]}
if ARGV[4] ~= '' then fields[3] = 'n'; fields[4] = ARGV[4] end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[5], '*', unpack(fields))
redis.call('EXPIRE', KEYS[1], ARGV[2])
local held = redis.call('INCRBY', KEYS[3], #ARGV[3] + #ARGV[4] + 64)
redis.call('EXPIRE', KEYS[3], ARGV[2])
if held > tonumber(ARGV[6]) then
  redis.call('XTRIM', KEYS[1], 'MAXLEN', math.ceil(redis.call('XLEN', KEYS[1]) / 2))
  redis.call('SET', KEYS[3], math.floor(held / 2), 'EX', ARGV[2])
end
return 1
"""


def feed_key(run_id: UUID | str) -> str:
    """The run's stream; fields of an entry: `f` frames, `n` stream numbers now stored, as JSON."""
    return f"rw:feed:{run_id}"


def epoch_key(run_id: UUID | str) -> str:
    """The random number that tells one life of the run's feed from the next."""
    return f"rw:feed:{run_id}:epoch"


def publish(run_id: UUID | str, frames: bytes, numbers: Numbers | None = None) -> bool:
    """Append frames to the run's feed; `numbers` maps Stream.id to the ranges [first, last] that were stored.

    Returns whether Redis took it. Never raises for a dead Redis: the feed is a hint, and readers compare
    themselves with Postgres.
    """
    if not frames and not numbers:
        return True
    arguments: list[int | bytes | str] = [
        secrets.randbits(_EPOCH_BITS) or 1,
        EXPIRY_S,
        frames,
        json.dumps(numbers, separators=(",", ":")) if numbers else "",
        MAX_ENTRIES,
        MAX_BYTES,
    ]
    keys = [feed_key(run_id), epoch_key(run_id), f"rw:feed:{run_id}:bytes"]
    return breaker.call(lambda: client().eval(_APPEND, len(keys), *keys, *arguments)) is not None


def publish_findings(run_id: UUID | str, findings: Sequence[Finding]) -> bool:
    """Tell the run's viewers of new or changed findings."""
    return publish(run_id, messages.findings(findings))
