"""The evidence of one worker's memory, computed once: floor and peak of each round, and what collections freed.

Eligible is memory that can leak: anonymous and shared memory of process, cgroup or host, and what is allocated
on a device; page cache and what an allocator has reserved are not. Missing data means: a round without a
reading in its quiet time has no floor, and one without any reading no peak; neither is taken from elsewhere.
"""

import math
from dataclasses import dataclass

import numpy as np

from ingest.detection.facts import Floats
from ingest.detection.memory.facts import Collected, Held, Span
from ingest.detection.memory.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundMemory:
    """Floor and peak of a round in bytes, None where no reading tells; `exact` where the peak is no sample's.

    `copies` is the peak in model copies, `copies_per_host` that by the number of hosts; None unknown.
    """

    index: int
    attempt: int
    floor: float | None
    peak: float | None
    exact: bool
    copies: float | None
    copies_per_host: float | None

    @property
    def told(self) -> str:
        """The peak in words; ">=" where a higher one may have passed between two samples."""
        if self.peak is None:
            return "not known"
        size = f"{'' if self.exact else '>= '}{self.peak / (1 << 30):.1f} GiB"
        return size if self.copies is None else f"{size} ({self.copies:.1f} model copies)"


@dataclass(frozen=True, slots=True)
class Fall:
    """Bytes that a full collection freed, and those of them that the kernel got back; Unix nanoseconds."""

    time_ns: int
    freed: float
    returned: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Context:
    """`rounds` oldest first; `floors` the judged ones' (bytes, NaN unknown) at `places`, their indices.

    `falls` are what full collections freed, `copy` a model copy's bytes or NaN.
    """

    held: Held
    policy: Policy
    rounds: tuple[RoundMemory, ...]
    places: Floats
    floors: Floats
    falls: tuple[Fall, ...]
    copy: float


def build(held: Held, policy: Policy) -> Context:
    """Take floors, peaks and falls from the readings."""
    rounds = rounds_of(held)
    newest = max((one.attempt for one in rounds), default=0)
    judged = [one for one in rounds if one.attempt == newest][policy.skipped_rounds :]
    return Context(
        held=held,
        policy=policy,
        rounds=rounds,
        places=np.array([one.index for one in judged], float),
        floors=np.array([math.nan if one.floor is None else one.floor for one in judged], float),
        falls=tuple(fall for one in held.collections if (fall := _fall(one)) is not None),
        copy=math.nan if held.copy_bytes is None or held.copy_bytes <= 0 else float(held.copy_bytes),
    )


def _fall(one: Collected) -> Fall | None:
    """What a collection freed by the larger of both measures; None where neither was told."""
    known = one.before_bytes is not None and one.after_bytes is not None
    returned = (one.before_bytes or 0.0) - (one.after_bytes or 0.0) if known else 0.0
    if not known and one.freed_bytes is None:
        return None
    return Fall(one.time_ns, max(returned, one.freed_bytes or 0.0), returned)


def rounds_of(held: Held) -> tuple[RoundMemory, ...]:
    """Floor and peak of every round."""
    return tuple(_round(held, span) for span in held.rounds)


def _round(held: Held, span: Span) -> RoundMemory:
    sampled = _between(held, span.begin_ns, span.end_ns)
    peak = float(sampled.max()) if len(sampled) else None
    exact = span.high_water is not None and (peak is None or span.high_water >= peak)
    peak = span.high_water if exact else peak
    quiet = np.empty(0)
    if span.quiet_from_ns is not None and span.quiet_to_ns is not None:
        quiet = _between(held, span.quiet_from_ns, span.quiet_to_ns)
    copies = peak / held.copy_bytes if peak is not None and held.copy_bytes else None
    return RoundMemory(
        index=span.index,
        attempt=span.attempt,
        floor=float(quiet.min()) if len(quiet) else None,
        peak=peak,
        exact=exact,
        copies=copies,
        copies_per_host=copies / held.hosts if copies is not None and held.hosts else None,
    )


def _between(held: Held, from_ns: int, to_ns: int) -> Floats:
    first, last = np.searchsorted(held.times_ns, from_ns, "left"), np.searchsorted(held.times_ns, to_ns, "right")
    return held.values[int(first) : int(last)]
