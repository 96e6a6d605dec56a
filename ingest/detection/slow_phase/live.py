"""What is known of a round that goes on: its open phases, those that ended, and who is heard."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from ingest.detection.facts import Kind, Spans, Worker
from ingest.detection.slow_phase.usual import Usual
from ingest.detection.wording import ROUNDS, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A phase that has begun and not ended; (attempt, start) is its identity.

    `seen_ns` is the worker's time, on the server's clock as all times here, at which it was last reported open.
    `error_ns` is that clock's error (-1 unknown), `progress` the readings (time, share done), oldest first.
    """

    lane: int
    attempt: int
    start: int
    name: str
    kind: Kind
    round: int
    begin_ns: int
    seen_ns: int
    parent: int = -1
    thread: int = 0
    error_ns: int = 0
    after: str = ""
    progress: tuple[tuple[int, float], ...] = ()


class Presence(enum.Enum):
    """Whether a worker is there."""

    RUNNING = "running"
    ENDED = "ended"  # in its own words: finished, failed or killed
    GONE = "gone"  # its host says that its process is no more


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """When anything of a worker was last heard; `reason` is what its host knows of its end."""

    heard_ns: int
    presence: Presence = Presence.RUNNING
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Live:
    """A round while it lasts.

    `spans` are the phases that ended in it, `opens` all that are open (also of other rounds), `seen` is by lane,
    `usual` what `usual(history)` gave of the rounds before, `cold` the lanes that still warm up, `done` those that said
    that they have ended the round, `last_end_ns` the newest end of any phase of the run (its begin where none has),
    `words` those of what is said.
    """

    round: int
    workers: tuple[Worker, ...]
    spans: Spans
    opens: tuple[Open, ...]
    seen: Mapping[int, Seen]
    usual: Usual
    now_ns: int
    last_end_ns: int
    cold: frozenset[int] = field(default_factory=frozenset)
    done: frozenset[int] = field(default_factory=frozenset)
    words: Words = ROUNDS
