"""The rules: how far each open phase is, who is lost, and whether the run stands still."""

import enum
import math
from dataclasses import dataclass

from ingest.detection.slow_phase.context import Context, Judged
from ingest.detection.slow_phase.limits import Basis
from ingest.detection.slow_phase.live import Presence
from ingest.detection.slow_phase.worked import Worked
from ingest.detection.verdicts import Verdict


class Level(enum.IntEnum):
    """How far an open phase is."""

    FINE = 0
    SUSPECT = 1  # the bar turns amber, no message
    SLOW = 2
    STALLED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What the bar of an open phase shows; `limits_s` are those of suspect, slow and stalled, in seconds."""

    lane: int
    attempt: int
    start: int
    level: Level
    worked_s: float
    limits_s: tuple[float, float, float]
    foretold: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """When a phase (of a worker: attempt and start) will reach a level if nothing else happens; Unix nanoseconds."""

    lane: int
    attempt: int
    start: int
    level: Level
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """All that one look at a round gave; `abstained` says of which phases nothing can be said, and why."""

    marks: tuple[Mark, ...]
    deadlines: tuple[Deadline, ...]
    verdicts: tuple[Verdict, ...]
    abstained: tuple[str, ...]


def level(judged: Judged) -> Level:
    """How far an open phase is by what it has worked, clock errors granted."""
    if judged.waits_for:
        return Level.FINE
    bounds = (judged.limits.suspect_s, judged.limits.slow_s, judged.limits.stalled_s)
    surely = judged.worked.seconds - judged.worked.slack_s
    return Level(sum(surely >= bound for bound in bounds))


def foretold_s(worked: Worked, least: float) -> float:
    """How long a phase will surely have worked by two readings of its progress, in seconds; NaN if it does not tell.

    The more hopeful of the two counts.
    """
    told = [(seconds - worked.slack_s) / share for seconds, share in worked.progress if least <= share <= 1]
    return worked.earlier_s + min(told[-2:]) if len(told) >= 2 else math.nan


def marked(context: Context, judged: Judged) -> Mark:
    """The mark of an open phase: its level, or slow where its progress says that it will be."""
    reached, foretold, bound = level(judged), False, judged.limits.slow_s
    if reached < Level.SLOW and not judged.waits_for and judged.limits.basis is not Basis.CAP:
        foretold = foretold_s(judged.worked, context.policy.progress_least) >= bound
        reached = Level.SLOW if foretold else reached
    return Mark(
        lane=judged.open.lane, attempt=judged.open.attempt, start=judged.open.start, level=reached,
        worked_s=judged.worked.seconds, foretold=foretold,
        limits_s=(judged.limits.suspect_s, bound, judged.limits.stalled_s),
    )  # fmt: skip


def deadlines(judged: Judged, mark: Mark) -> list[Deadline]:
    """When it reaches the levels that it has not reached; none while it waits, or for a phase nested in it."""
    if judged.waits_for or judged.worked.paused or math.isinf(judged.worked.slack_s):
        return []
    ahead = [level for level in (Level.SUSPECT, Level.SLOW, Level.STALLED) if level > mark.level]
    return [
        Deadline(
            lane=mark.lane, attempt=mark.attempt, start=mark.start, level=each,
            at_ns=judged.worked.reaches_at(mark.limits_s[each - 1]),
        )
        for each in ahead
    ]  # fmt: skip


def lost(context: Context) -> list[int]:
    """The lanes that ended without a word, or are not heard any more."""
    live = context.live
    return [
        lane
        for lane, seen in sorted(live.seen.items())
        if lane in context.workers and seen.presence is not Presence.ENDED and not context.there(lane)
    ]


def stands_still_s(context: Context) -> float:
    """After how many seconds without the end of any phase a run stands still."""
    policy, typical = context.policy, context.live.usual.round_s
    if not math.isfinite(typical):
        return policy.cap_s
    return max(policy.run_stalled_s, policy.run_stalled_rounds * typical)


def stands_still(context: Context) -> bool:
    """Whether no phase has ended anywhere for so long, while some worker is there."""
    live = context.live
    there = any(context.there(lane) for lane in live.seen)
    return there and live.now_ns - live.last_end_ns >= stands_still_s(context) * 1e9
