"""What the rules of regression are given: the figures of a run and of comparable ones before it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """A run's own figures over `rounds` judged rounds, warm-up left out; None for what is not known.

    `round_s` and `waiting_share` (0..1) are medians over rounds, `memory_peak_bytes` is the most that any worker held.
    """

    run: str
    name: str
    rounds: int
    round_s: float | None = None
    waiting_share: float | None = None
    memory_peak_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A run beside earlier ones of its project under the same conditions, oldest first; `group` says which those are.

    `changed` says what is configured otherwise than in the newest of them; `worker` holds the memory peak, `since_ns`
    (Unix nanoseconds) is the end of the newest round that counts.
    """

    own: RunFigures
    earlier: tuple[RunFigures, ...]
    group: str
    since_ns: int
    worker: str = ""
    copy_bytes: float | None = None
    changed: tuple[str, ...] = ()
