"""Intervals between two named boundaries of a round, with their checks, their parts, and what no phase explains."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.detection.critical_path import Segment, build, walk
from ingest.detection.critical_path.clocks import clocks
from ingest.detection.facts import Spans, Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """The begin or end of a phase in a round, of the first worker or of the last."""

    phase: str
    begins: bool
    first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """From one boundary to another; a check passes where it takes at most `most_s` seconds."""

    name: str
    begin: Boundary
    end: Boundary
    most_s: float | None = None


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


# What is measured of a training that names its phases so, without anybody asking.
USUAL = (
    Interval(
        name="aggregation to sync start",
        begin=Boundary(phase="aggregate", begins=False, first=False),
        end=Boundary(phase="sync", begins=True, first=True),
    ),
    Interval(
        name="sync start to last applied",
        begin=Boundary(phase="sync", begins=True, first=True),
        end=Boundary(phase="apply", begins=False, first=False),
    ),
)


def measure(
    spans: Spans, workers: tuple[Worker, ...], index: int, intervals: Sequence[Interval] = USUAL
) -> tuple[Measured, ...]:
    """Those of `intervals` of which round `index` has both boundaries."""
    found = []
    for interval in intervals:
        begin, end = _instant(spans, index, interval.begin), _instant(spans, index, interval.end)
        if begin is not None and end is not None:
            found.append(_measured(spans, workers, interval, begin, end))
    return tuple(found)


def _instant(spans: Spans, index: int, boundary: Boundary) -> tuple[int, int] | None:
    """When and on which lane the round reached the boundary."""
    if boundary.phase not in spans.names:
        return None
    own = np.flatnonzero((spans.name == spans.names.index(boundary.phase)) & (spans.round == index))
    if not len(own):
        return None
    at = (spans.begin_ns if boundary.begins else spans.end_ns)[own]
    one = int(at.argmin() if boundary.first else at.argmax())
    return int(at[one]), int(spans.lane[own[one]])


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
    parts = walk(build(spans, workers, since, until), lane=end_lane)
    return Measured(
        interval=interval, begin_ns=since, end_ns=until, error_ns=error, parts=parts,
        passed=_passed(interval, until - since, error),
    )  # fmt: skip


def _passed(interval: Interval, length_ns: int, error_ns: int) -> bool | None:
    if interval.most_s is None or abs(length_ns - interval.most_s * 1e9) < error_ns:
        return None
    return length_ns <= interval.most_s * 1e9
