"""What the memory rules are given: one worker's readings of one metric, its rounds, and its full collections."""

from dataclasses import dataclass

from ingest.detection.facts import Floats, Ints, Worker
from ingest.detection.wording import ROUNDS, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A worker's part in one round; times are Unix nanoseconds.

    `quiet_from_ns` is the end of its last apply (or sync) in the round, `quiet_to_ns` the begin of the next
    round's training, both None where it has none: the floor is the lowest reading between them, ends included.
    `high_water` is the most bytes held in the round where kernel or allocator keep a mark of it, None where not.
    """

    index: int
    attempt: int
    begin_ns: int
    end_ns: int
    quiet_from_ns: int | None = None
    quiet_to_ns: int | None = None
    high_water: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """A collection of the oldest generation, with the process's memory before and after; Unix ns and bytes.

    `freed_bytes` is by how much less its allocator had handed out after it, None unknown: what is freed need not go
    back to the kernel.
    """

    time_ns: int
    before_bytes: float | None = None
    after_bytes: float | None = None
    freed_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An object that the training asked to be remembered and that is still there: what the agent found to hold it.

    `rounds` is for how many; `held_by` is "a name", "a cycle" or "not found", `path` leads from there to the object.
    """

    label: str
    rounds: int
    type: str = ""
    held_by: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """What one worker (or one of its devices) held, by one metric, oldest first.

    `times_ns` and `values` (bytes) are columns of one length. `copy_bytes` is one model copy, `limit_bytes` where
    it ends, None unknown. `ended_ns` is when the worker said that it had finished, `planned_end_ns` when its
    planned rounds will be over, None unknown. `hosts` is how many take part in the round. `from_first` says that
    the newest attempt's rounds begin with its first, `kept` are objects that stay, `words` those of
    what is said.
    """

    worker: Worker
    metric: str
    times_ns: Ints
    values: Floats
    rounds: tuple[Span, ...]
    device: str = ""
    collections: tuple[Collected, ...] = ()
    kept: tuple[Kept, ...] = ()
    copy_bytes: float | None = None
    limit_bytes: float | None = None
    ended_ns: int | None = None
    from_first: bool = True
    planned_end_ns: int | None = None
    hosts: int = 0
    words: Words = ROUNDS
