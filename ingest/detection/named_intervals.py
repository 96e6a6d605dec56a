"""Intervals between two named boundaries of a round, with their checks, their parts, and what no phase explains."""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ingest.detection.critical_path import Segment, build, enders, walk
from ingest.detection.critical_path.clocks import Clocks, clocks
from ingest.detection.facts import Spans, Worker
from ingest.detection.wording import ROUNDS, Words


class Of(enum.Enum):
    """What a boundary is: where a phase begins, where it ends, or an event."""

    BEGIN = "begin"
    END = "end"
    EVENT = "event"


_IDENTITY = {Of.BEGIN: "start of", Of.END: "end of", Of.EVENT: "event"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """An instant of a round with a name, of the first worker or of the last."""

    of: Of
    name: str
    first: bool

    @property
    def identity(self) -> str:
        """Its part of Interval.identity."""
        return f"{'first' if self.first else 'last'} {_IDENTITY[self.of]} {self.name}"

    def __str__(self) -> str:
        place = "first" if self.first else "last"
        if self.of is Of.EVENT:
            return f"{place} event {self.name}"
        return f"{place} {'start' if self.of is Of.BEGIN else 'end'} of {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """From one boundary to another, of each the first that the round has; a check passes within `most_s` seconds.

    One that somebody `asked` for is told of rounds that lack a boundary, too.
    """

    name: str
    begin: tuple[Boundary, ...]
    end: tuple[Boundary, ...]
    most_s: float | None = None
    asked: bool = False

    def __str__(self) -> str:
        between = " to ".join(" or ".join(map(str, bounds)) for bounds in (self.begin, self.end))
        return between if self.most_s is None else f"{between}, at most {self.most_s:g} s"

    @property
    def identity(self) -> str:
        """What tells this definition from any other of its name.

        Findings and the stamps of analyses keep it: it must stay as it is, however an interval is put into words.
        """
        between = " to ".join(" or ".join(one.identity for one in bounds) for bounds in (self.begin, self.end))
        return between if self.most_s is None else f"{between}, at most {repr(self.most_s).removesuffix('.0')} s"

    @property
    def events(self) -> tuple[str, ...]:
        """The names of the events that it takes to measure it."""
        return tuple(one.name for one in (*self.begin, *self.end) if one.of is Of.EVENT)


@dataclass(frozen=True, slots=True)
class Event:
    """A named instant of a round on a worker (lane); Unix nanoseconds."""

    name: str
    lane: int
    round: int
    time_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An interval of one round, in Unix nanoseconds; -1 where it could not be measured, and `abstained` says why.

    `passed` is None without a check, and where clock errors (`error_ns`) could turn the answer. `parts` are the
    critical path between the boundaries: disjoint, summing to the whole; its gaps are what is not instrumented.
    """

    interval: Interval
    begin_ns: int = -1
    end_ns: int = -1
    lanes: tuple[int, int] = (-1, -1)  # whose boundaries they are
    error_ns: int = 0
    passed: bool | None = None
    parts: tuple[Segment, ...] = ()
    abstained: str = ""

    @property
    def length_ns(self) -> int:
        """How long it took."""
        return self.end_ns - self.begin_ns

    @property
    def not_instrumented_ns(self) -> int:
        """How much of it no phase explains."""
        return sum(part.length_ns for part in self.parts if part.gap)


_AGGREGATED = (
    Boundary(of=Of.EVENT, name="aggregated", first=False), Boundary(of=Of.END, name="aggregate", first=False),
)  # fmt: skip
_SYNC_START = (
    Boundary(of=Of.EVENT, name="sync start", first=True), Boundary(of=Of.BEGIN, name="sync", first=True),
)  # fmt: skip
_SYNCHRONISED = (
    Boundary(of=Of.EVENT, name="synchronised", first=False), Boundary(of=Of.END, name="apply", first=False),
)  # fmt: skip
# What is measured of a training that uses these names, without anybody asking.
USUAL = (
    Interval(name="aggregation to sync start", begin=_AGGREGATED, end=_SYNC_START),
    Interval(name="sync start to last synchronised", begin=_SYNC_START, end=_SYNCHRONISED),
)

Reached = tuple[int, int]  # when, and on which lane


def measure(
    spans: Spans,
    workers: tuple[Worker, ...],
    index: int,
    events: Sequence[Event] = (),
    intervals: Sequence[Interval] = USUAL,
    words: Words = ROUNDS,
) -> tuple[Measured, ...]:
    """Those of `intervals` of which round `index` has both boundaries, with their parts, and all that are asked for.

    Why one could not be measured is said in `words`.
    """
    found = []
    own = spans.chosen(np.flatnonzero(spans.round == index))
    time = clocks(spans, workers)
    for interval in intervals:
        begin, end = (_reached(own, events, one).get(index) for one in (interval.begin, interval.end))
        if begin is not None and end is not None:
            one = bare(time, interval, begin, end, words)
            found.append(one if one.abstained else replace(one, parts=_parts(spans, workers, one)))
        elif interval.asked:
            lacks = interval.begin if begin is None else interval.end
            found.append(Measured(interval=interval, abstained=f"the {words.round} has no {_either(lacks)}"))
    return tuple(found)


def _either(lacks: Sequence[Boundary]) -> str:
    return " and no ".join(map(str, lacks))


def by_round(spans: Spans, events: Sequence[Event], interval: Interval, time: Clocks) -> dict[int, Measured]:
    """The interval of each round that has both of its boundaries, without its parts."""
    begins, ends = (_reached(spans, events, one) for one in (interval.begin, interval.end))
    return {index: bare(time, interval, begins[index], ends[index]) for index in sorted(begins.keys() & ends.keys())}


def bare(time: Clocks, interval: Interval, begin: Reached, end: Reached, words: Words = ROUNDS) -> Measured:
    """What was measured between two instants, without the parts, or why it could not be."""
    (since, begin_lane), (until, end_lane) = begin, end
    here, there = np.array([begin_lane]), np.array([end_lane])
    error = int(time.between(here, there)[0])
    same = time.machine[begin_lane] == time.machine[end_lane]
    if not (same or (time.known[begin_lane] and time.known[end_lane])):
        return Measured(interval=interval, abstained=f"the clock of one of the {words.worker}s is unknown")
    if until < since:
        why = "its end came before its begin" if since - until > error else "shorter than the clocks can tell"
        return Measured(interval=interval, abstained=why)
    return Measured(
        interval=interval, begin_ns=since, end_ns=until, lanes=(begin_lane, end_lane), error_ns=error,
        passed=passed(interval, until - since, error),
    )  # fmt: skip


def passed(interval: Interval, length_ns: int, error_ns: int) -> bool | None:
    """Whether it took no longer than its check allows; None without one, and where clock errors could turn it."""
    if interval.most_s is None or abs(length_ns - interval.most_s * 1e9) < error_ns:
        return None
    return length_ns <= interval.most_s * 1e9


def _parts(spans: Spans, workers: tuple[Worker, ...], one: Measured) -> tuple[Segment, ...]:
    graph = build(spans, workers, one.begin_ns, one.end_ns)
    # An event may be told by somebody who does nothing meanwhile.
    return walk(graph, lane=one.lanes[1] if enders(graph, one.lanes[1]).any() else None)


def _reached(spans: Spans, events: Sequence[Event], boundaries: Sequence[Boundary]) -> dict[int, Reached]:
    """When and on which lane each round reached the first of the boundaries that it has."""
    found: dict[int, Reached] = {}
    for boundary in boundaries:
        of_events = boundary.of is Of.EVENT
        found = (_by_events(events, boundary) if of_events else _by_phases(spans, boundary)) | found
    return found


def _by_events(events: Sequence[Event], boundary: Boundary) -> dict[int, Reached]:
    found: dict[int, Reached] = {}
    foremost: Callable[[Reached, Reached], Reached] = min if boundary.first else max
    for one in events:
        if one.name == boundary.name:
            at = (one.time_ns, one.lane)
            found[one.round] = foremost(at, found.get(one.round, at))
    return found


def _by_phases(spans: Spans, boundary: Boundary) -> dict[int, Reached]:
    if boundary.name not in spans.names:
        return {}
    own = np.flatnonzero(spans.name == spans.names.index(boundary.name))
    at = (spans.begin_ns if boundary.of is Of.BEGIN else spans.end_ns)[own]
    order = np.lexsort((spans.lane[own], at, spans.round[own]))
    own, at = own[order], at[order]
    rounds = spans.round[own]
    turns = np.flatnonzero(np.diff(rounds))
    places = np.concatenate([[0], turns + 1]) if boundary.first else np.concatenate([turns, [len(rounds) - 1]])
    places = places[: len(rounds)]
    return dict(
        zip(rounds[places].tolist(), zip(at[places].tolist(), spans.lane[own][places].tolist(), strict=True),
            strict=True)
    )  # fmt: skip
