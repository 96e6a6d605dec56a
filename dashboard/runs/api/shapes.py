"""What REST answers: times are RFC 3339 UTC with microseconds, durations seconds, sizes bytes."""

import datetime as dt
import math
from typing import Annotated, Any, Generic, TypeVar

from ninja import Field, Schema
from pydantic import WithJsonSchema

T = TypeVar("T")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_YEAR_9999_US = 253_402_300_799_999_999

Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


class Listed(Schema, Generic[T]):
    """A page of a list; `next` is the cursor of the following one, null at the end."""

    items: list[T]
    next: str | None


class RunShape(Schema):
    """A training job of the team."""

    id: str
    key: str = Field(description="The run_id that the training gave or was found for it.")
    project: str
    name: str
    state: str
    tags: list[str]
    notes: str
    config: dict[str, Any]
    conditions: dict[str, Any]
    rounds_done: int
    rounds_planned: int | None
    started_at: Time
    ended_at: Time | None


class WorkerShape(Schema):
    """A participating process, over all its attempts."""

    name: str
    role: str
    rank: int | None
    group: str | None
    machine: str
    host: str
    site: str | None
    state: str
    state_reason: str
    attempt: int
    clock_offset_s: float | None
    clock_error_s: float | None
    last_seen: Time


class ConditionsShape(Schema):
    """What one attempt of a worker said of its hardware, limits, versions and settings where it began."""

    worker: str
    role: str
    machine: str
    host: str
    attempt: int = Field(description="Which life of its worker, from 0; a run's own `conditions` merge the newest.")
    started: Time
    conditions: dict[str, Any]


class PathSegment(Schema):
    """A piece of a round's critical path: a phase's own time, or the gap before it, which no phase explains."""

    worker: str
    phase: str = Field(description="Of a gap the phase that came after it; empty before the round's end.")
    kind: str
    start: Time
    end: Time
    seconds: float
    gap: bool
    clock_error_s: float = Field(description="How uncertain its start is: both clocks' errors where workers change.")


class Waiting(Schema):
    """What kept GPUs waiting for so long, as the mean over trainers; all together they are the mean GPU waiting."""

    worker: str = Field(description="Empty where a phase of many workers is told of together.")
    phase: str
    kind: str
    gap: bool
    seconds: float
    others_gpu_seconds: float = Field(description="GPU time that other trainers lost waiting for it, summed.")


class WhatIf(Schema):
    """What a round would save if the scope had taken its reference time."""

    scope: dict[str, Any] = Field(
        description="worker, phase, worker and phase, machine or site; or joint: a list of worker and phase."
    )
    seconds_saved: float
    seconds_added: float | None = Field(description="What the scope alone costs a round that is otherwise as fast.")
    gpu_seconds_waited: float | None = Field(description="GPU time that other trainers lost waiting for it, summed.")


class IntervalShape(Schema):
    """The time between two boundaries, and whether it passed its check; its parts sum to it."""

    name: str
    between: str = Field(description="Its two boundaries in words.")
    seconds: float | None
    check: str | None
    passed: bool | None
    clock_error_s: float | None
    not_instrumented_s: float | None = Field(description="How much of it no phase explains.")
    parts: list[PathSegment]
    abstained: str = Field(description="Why it could not be measured, or empty.")


class CommunicationShape(Schema):
    """How much of a round moves data: means over the trainers, null where a figure has no meaning."""

    comm_share: float | None = Field(description="Transfer between nodes, waiting left out, over the wall time.")
    exposed_share: float | None = Field(description="The part of it beside which nothing computes, over the wall time.")
    overlap: float | None = Field(description="The share of all transfer beside which something computes.")
    ratio: float | None = Field(description="All transfer over all compute.")
    exchange_share: float | None = Field(description="GPU waiting over the wall time, where only `train` computes.")
    band: str | None = Field(
        description="Below 0.15 healthy, above 0.30 alarming, overlapped where both shares differ."
    )
    waiting_s: dict[str, float] = Field(description="Mean seconds of GPU waiting by part.")
    abstained: str


class SightShape(Schema):
    """What detection could see of a phase: the smallest ratio, or why it abstained."""

    phase: str
    role: str
    group: str
    workers: int
    smallest_ratio: float | None
    abstained: str


class RoundShape(Schema):
    """A generation of a round; what is not computed yet is null."""

    index: int
    generation: int
    start: Time
    end: Time | None
    wall_s: float | None
    closed: bool
    trainers: int
    coverage: float | None
    gpu_waiting_share: float | None
    kind_seconds: dict[str, float] | None = Field(description="Trainers' mean seconds by kind of phase.")
    gpu_waiting: list[Waiting] | None
    critical_path: list[PathSegment] | None
    what_if: list[WhatIf] | None
    intervals: list[IntervalShape] | None
    communication: CommunicationShape | None
    judged: list[SightShape] | None


class PhaseShape(Schema):
    """An ended phase of a worker; `round` is -1 outside of any round."""

    worker: str
    round: int
    name: str
    kind: str
    start: Time
    end: Time
    seconds: float
    state: str
    attrs: dict[str, Any]


class SampleShape(Schema):
    """One reading; `worker` is null for a machine's own, a value that is no number is "nan", "inf" or "-inf"."""

    worker: str | None
    machine: str
    device: str
    metric: str
    unit: str
    time: Time
    value: float | str


class FindingShape(Schema):
    """What detection says: `observed` was measured, `hypothesis` may explain it."""

    id: str
    run: str
    kind: str
    state: str
    severity: str
    observed: str
    hypothesis: str
    workers: list[str]
    rounds: list[int]
    phase: str
    evidence: dict[str, Any]
    opened_at: Time
    resolved_at: Time | None


def moment(at: dt.datetime) -> str:
    """A time of the database as RFC 3339."""
    return at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def time_of(unix_ns: int) -> str:
    """A time in Unix nanoseconds as RFC 3339, cut to microseconds; what lies outside of the calendar, at its edge."""
    return moment(_EPOCH + dt.timedelta(microseconds=max(-62_135_596_800_000_000, min(unix_ns // 1000, _YEAR_9999_US))))


def seconds_between(begin_ns: int, end_ns: int) -> float:
    """The seconds between two times as they are shown: a whole number of microseconds."""
    return (end_ns // 1000 - begin_ns // 1000) / 1e6


def seconds(nanoseconds: int | None) -> float | None:
    """A duration of the database in seconds, in whole microseconds."""
    return None if nanoseconds is None else round(nanoseconds / 1000) / 1e6


def number(value: float) -> float | str:
    """A value as JSON has it."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
