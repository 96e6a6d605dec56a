"""Intervals between two named boundaries of a round, with their checks, their parts, and what no phase explains."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.detection.critical_path import Segment, build, enders, walk
from ingest.detection.critical_path.clocks import clocks
from ingest.detection.facts import Spans, Worker


class Of(enum.Enum):
    """What a boundary is: where a phase begins, where it ends, or an event."""

    BEGIN = "begin"
    END = "end"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """An instant of a round with a name, of the first worker or of the last."""

    of: Of
    name: str
    first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """From one boundary to another, of each the first that the round has; a check passes within `most_s` seconds."""

    name: str
    begin: tuple[Boundary, ...]
    end: tuple[Boundary, ...]
    most_s: float | None = None


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
# The events that it takes to measure them.
EVENTS = tuple(one.name for one in (*_AGGREGATED, *_SYNC_START, *_SYNCHRONISED) if one.of is Of.EVENT)


def measure(
    spans: Spans,
    workers: tuple[Worker, ...],
    index: int,
    events: Sequence[Event] = (),
    intervals: Sequence[Interval] = USUAL,
) -> tuple[Measured, ...]:
    """Those of `intervals` of which round `index` has both boundaries."""
    found = []
    for interval in intervals:
        begin, end = (_first(spans, index, events, one) for one in (interval.begin, interval.end))
        if begin is not None and end is not None:
            found.append(_measured(spans, workers, interval, begin, end))
    return tuple(found)


def _first(spans: Spans, index: int, events: Sequence[Event], boundaries: Sequence[Boundary]) -> tuple[int, int] | None:
    """When and on which lane the round reached the first of the boundaries that it has."""
    for boundary in boundaries:
        if found := _reached(spans, index, events, boundary):
            return min(found) if boundary.first else max(found)
    return None


def _reached(spans: Spans, index: int, events: Sequence[Event], boundary: Boundary) -> list[tuple[int, int]]:
    """Every (time, lane) at which the round reached it."""
    if boundary.of is Of.EVENT:
        return [(one.time_ns, one.lane) for one in events if one.name == boundary.name and one.round == index]
    if boundary.name not in spans.names:
        return []
    own = np.flatnonzero((spans.name == spans.names.index(boundary.name)) & (spans.round == index))
    at = (spans.begin_ns if boundary.of is Of.BEGIN else spans.end_ns)[own]
    return list(zip(at.tolist(), spans.lane[own].tolist(), strict=True))


def _measured(
    spans: Spans, workers: tuple[Worker, ...], interval: Interval, begin: tuple[int, int], end: tuple[int, int]
) -> Measured:
    (since, begin_lane), (until, end_lane) = begin, end
    time = clocks(spans, workers)
    here, there = np.array([begin_lane]), np.array([end_lane])
    error = int(time.between(here, there)[0])
    same = time.machine[begin_lane] == time.machine[end_lane]
    if not (same or (time.known[begin_lane] and time.known[end_lane])):
        return Measured(interval=interval, abstained="the clock of one of the workers is unknown")
    if until < since:
        why = "its end came before its begin" if since - until > error else "shorter than the clocks can tell"
        return Measured(interval=interval, abstained=why)
    graph = build(spans, workers, since, until)
    # An event may be told by somebody who does nothing meanwhile.
    parts = walk(graph, lane=end_lane if enders(graph, end_lane).any() else None)
    return Measured(
        interval=interval, begin_ns=since, end_ns=until, error_ns=error, parts=parts,
        passed=_passed(interval, until - since, error),
    )  # fmt: skip


def _passed(interval: Interval, length_ns: int, error_ns: int) -> bool | None:
    if interval.most_s is None or abs(length_ns - interval.most_s * 1e9) < error_ns:
        return None
    return length_ns <= interval.most_s * 1e9
