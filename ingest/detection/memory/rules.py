"""The rules: memory that grows from round to round, that stays after the end, or that only collections free."""

import math
from dataclasses import dataclass

import numpy as np

from ingest.detection.facts import Floats
from ingest.detection.memory.context import Context, RoundMemory
from ingest.detection.memory.facts import Span
from ingest.detection.memory.trend import mann_kendall, theil_sen


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Floors that grow: bytes a round over `rounds` rounds, from the first to the last; NaN for what is not known.

    `left_rounds` and `left_s` are how long until the limit is reached, if the next peaks grow as the floors did.
    """

    first: int
    last: int
    rounds: int
    tau: float
    slope: float
    total: float
    left_rounds: float
    left_s: float
    share_of_limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """Bytes above the floor after the attempt's first round, `base` after `first`, for `seconds` after its end."""

    first: int
    base: float
    left: float
    seconds: float
    over: bool  # it was given back meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What full collections freed: `times` falls of at least half a copy, the largest of `most` bytes.

    `by_floors`: floors that fall where collections were, and only there; else measured at collections.
    """

    times: int
    most: float
    by_floors: bool
    since_ns: int  # the first of those collections
    kept: bool = False  # of the largest the kernel got less than half back


def growth(context: Context) -> Growth | None:
    """Growth over the last rounds or, slower, over many more."""
    policy = context.policy
    recent = _grown(context, policy.recent_rounds, 1.0)
    # A slow leak may grow by less a round, in proportion to how many more rounds show it.
    return recent or _grown(context, policy.slow_rounds, policy.recent_rounds / policy.slow_rounds)


def retained(context: Context) -> Retained | None:
    """Memory that stays for a minute after the end, beyond what the worker held after its attempt's first round."""
    held, policy = context.held, context.policy
    first = _first(context)
    base = None if first is None else first.floor
    if held.ended_ns is None or first is None or base is None or math.isnan(context.copy):
        return None
    after = held.times_ns >= held.ended_ns
    seconds = (held.times_ns[after] - held.ended_ns) / 1e9
    bound = base + policy.retained_copies * context.copy
    above = held.values[after] > bound
    if not len(above):
        return None
    lasted = float(seconds[-1]) if above.all() else float(seconds[int(np.argmin(above))])
    if not above[0] or lasted < policy.retained_s:
        return None
    left = float(held.values[after][seconds <= policy.retained_s].min()) - base
    return Retained(first=first.index, base=base, left=left, seconds=lasted, over=not bool(above.all()))


def cycle(context: Context) -> Cycle | None:
    """Memory that the cyclic collector frees: measured at collections, or by floors in step with them."""
    least = _copies(context, context.policy.fall_copies, context.policy.total_unknown_bytes)
    falls = [fall for fall in context.falls if fall.freed >= least]
    if falls:
        most, since = max(falls, key=lambda fall: fall.freed), min(fall.time_ns for fall in falls)
        kept = most.returned < most.freed / 2
        return Cycle(times=len(falls), most=most.freed, by_floors=False, since_ns=since, kept=kept)
    return _saw_tooth(context, least)


def abstained(context: Context) -> tuple[str, ...]:
    """What cannot be said of this worker's memory, and why."""
    policy, held = context.policy, context.held
    if held.metric not in policy.leaking:
        return (f"{held.metric}: page cache and reserved memory are no leak",)
    floors = int(np.isfinite(context.floors).sum())
    found = []
    if floors < policy.least_rounds:
        found.append(f"growth: {floors} rounds with a reading between them are known, {policy.least_rounds} are needed")
    if math.isnan(context.copy):
        found.append("retained after the end: the model's bytes are not known")
    elif (first := _first(context)) is None or first.floor is None:
        found.append("retained after the end: no reading after the first round")
    elif held.ended_ns is not None and (not len(held.times_ns) or _after_s(context) < policy.retained_s):
        found.append(f"retained after the end: it was not read for {policy.retained_s:g} s after its end")
    if not context.falls:
        found.append("reference cycle: no collection was told with memory before and after")
    return tuple(found)


def _first(context: Context) -> RoundMemory | None:
    """The first round of the newest attempt, None where it is not among the rounds."""
    newest = max((one.attempt for one in context.rounds), default=0)
    at = next((place for place, one in enumerate(context.rounds) if one.attempt == newest), None)
    return None if at is None or (at == 0 and not context.held.from_first) else context.rounds[at]


def _grown(context: Context, most: int, eased: float) -> Growth | None:
    policy = context.policy
    known = np.isfinite(context.floors)
    floors, places = context.floors[known][-most:], context.places[known][-most:]
    if len(floors) < (policy.least_rounds if eased == 1 else policy.recent_rounds + 1):
        return None
    total, slope, tau = float(floors[-1] - floors[0]), theil_sen(places, floors), mann_kendall(floors)
    least = eased * max(policy.slope_copies * _known(context.copy), policy.slope_least_bytes)
    enough = total >= _copies(context, policy.total_copies, policy.total_unknown_bytes)
    if tau < policy.tau or slope < least or not enough or np.diff(floors).max() > policy.step_share * total:
        return None
    found = _until_limit(context, places, floors, tau, slope)
    return found if not math.isnan(context.copy) or _matters(context, found) else None


def _until_limit(context: Context, places: Floats, floors: Floats, tau: float, slope: float) -> Growth:
    held, peaks = context.held, [one.peak for one in context.rounds if one.peak is not None]
    limit = math.nan if held.limit_bytes is None else held.limit_bytes
    highest = max(peaks[-1], float(floors[-1])) if peaks else float(floors[-1])
    rounds = math.nan if math.isnan(limit) else max(0.0, (limit - highest) / slope)
    spans = held.rounds[-len(floors) :]
    each = (spans[-1].end_ns - spans[0].begin_ns) / 1e9 / len(spans)
    return Growth(
        first=int(places[0]), last=int(places[-1]), rounds=len(floors), tau=tau, slope=slope,
        total=float(floors[-1] - floors[0]), left_rounds=rounds, left_s=rounds * each, share_of_limit=highest / limit,
    )  # fmt: skip


def _matters(context: Context, found: Growth) -> bool:
    """Whether the limit is reached before the planned end or, where none is planned, within a day."""
    held = context.held
    if math.isnan(found.left_s):
        return False
    planned = held.planned_end_ns
    now = held.rounds[-1].end_ns
    return found.left_s <= (context.policy.horizon_s if planned is None else (planned - now) / 1e9)


def _saw_tooth(context: Context, least: float) -> Cycle | None:
    known = np.isfinite(context.floors)
    floors, places = context.floors[known], context.places[known]
    steps = np.diff(floors)
    spans = {float(span.index): span for span in context.held.rounds}
    between = zip(places[:-1].tolist(), places[1:].tolist(), strict=True)
    collected = [_collected(context, spans[one], spans[other]) for one, other in between]
    fell = [times for times, step in zip(collected, steps.tolist(), strict=True) if -step >= least]
    if len(fell) < max(1, context.policy.saw_teeth) or not all(fell):
        return None
    return Cycle(times=len(fell), most=float(-steps.min()), by_floors=True, since_ns=min(min(times) for times in fell))


def _collected(context: Context, before: Span, after: Span) -> list[int]:
    """When collections ran between two floors; Unix nanoseconds."""
    until = after.quiet_to_ns or after.end_ns
    return [one.time_ns for one in context.held.collections if before.end_ns <= one.time_ns <= until]


def _copies(context: Context, copies: float, unknown: float) -> float:
    return unknown if math.isnan(context.copy) else copies * context.copy


def _known(copy: float) -> float:
    return 0.0 if math.isnan(copy) else copy


def _after_s(context: Context) -> float:
    return (int(context.held.times_ns[-1]) - (context.held.ended_ns or 0)) / 1e9
