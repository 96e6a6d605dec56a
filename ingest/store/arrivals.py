"""What the door hands to the store: batches whose records have been checked, as columns, and those set aside."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self
from uuid import UUID

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Fault(Exception):  # noqa: N818 - the word of the answer, not of Python
    """Why a request is refused: HTTP status, a code for programs, a sentence for people, the field it is about; for
    one that passes, in how many seconds to come again.
    """

    def __init__(self, status: int, code: str, message: str, field: str | None = None, *, retry_s: int = 1) -> None:
        """Say all of it."""
        super().__init__(message)
        self.retry_s = retry_s
        self.status, self.code, self.message, self.field = status, code, message, field

    def afresh(self) -> "Fault":
        """The same without the frames that it has passed, each of which would keep its request's body alive."""
        return Fault(self.status, self.code, self.message, self.field, retry_s=self.retry_s)


@dataclass(frozen=True, slots=True)
class Who:
    """Whose stream it is, as wire.Identity; texts are storable and within their limits. A host has no run, worker."""

    host_stream: bool
    project: str
    run: str
    run_found: bool
    worker: str
    role: str
    rank: int | None
    local_rank: int | None
    world_size: int | None
    group: str | None
    machine: str
    host: str
    site: str | None
    pid: int
    began_at: dt.datetime


# Columns of records that hold something else than integers.
_TYPES: dict[str, type] = {"explicit": np.bool_, "ended": np.bool_, "value": np.float64}


@dataclass(frozen=True, slots=True)
class Rows:
    """Records of one sort, as columns of equal length that begin with their stream numbers."""

    number: Ints

    @classmethod
    def none(cls) -> Self:
        """No records."""
        return cls(**{column.name: np.zeros(0, _TYPES.get(column.name, np.int64)) for column in fields(cls)})

    def __len__(self) -> int:
        """How many records."""
        return len(self.number)

    def take(self, keep: Mask) -> Self:
        """The records that the mask names."""
        if keep.all():
            return self
        return replace(self, **{column.name: getattr(self, column.name)[keep] for column in fields(self)})


@dataclass(frozen=True, slots=True)
class PhaseRows(Rows):
    """Ended phases; times Unix ns on the server's clock.

    `name` indexes the arrival's `names`; `worker` its `speaks_for`, -1 for the stream's own; `attrs` its
    `attrs`, -1 for none. `explicit` phases came with Unix times of their own, whose clock error nobody knows.
    """

    start: Ints
    begin_ns: Ints
    end_ns: Ints
    round: Ints
    name: Ints
    kind: Ints
    thread: Ints
    parent: Ints
    state: Ints
    worker: Ints
    attrs: Ints
    explicit: Mask


@dataclass(frozen=True, slots=True)
class EventRows(Rows):
    """Named instants; columns as for phases."""

    time_ns: Ints
    round: Ints
    name: Ints
    thread: Ints
    attrs: Ints


@dataclass(frozen=True, slots=True)
class SampleRows(Rows):
    """Readings; `series` indexes the arrival's `series`."""

    time_ns: Ints
    round: Ints
    series: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class RoundRows(Rows):
    """Begins and ends of rounds; an end carries its begin. Times Unix ns on the server's clock."""

    round: Ints
    ended: Mask
    begin_ns: Ints
    end_ns: Ints


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """One metric of one device; `worker` indexes the arrival's `speaks_for`, -1 for the stream's own."""

    worker: int
    metric: str
    unit: str
    source: str
    device: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A lifecycle record whose data has been checked; `time_ns` is Unix ns on the server's clock."""

    number: int
    time_ns: int
    what: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Loss:
    """Numbers `number` .. `number + span - 1`, which stand for `count` records that will never come."""

    number: int
    span: int
    count: int
    what: str
    reason: str
    begin_ns: int | None
    end_ns: int | None


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that cannot be stored: why, and what of it can be shown."""

    number: int
    reason: str
    record: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One batch, checked: every number of `first` .. `first + count - 1` is in one of its parts.

    `names` are (text, kind) pairs, `attrs` JSON texts, `opens` the open phases as Stream.opens keeps them;
    `open_at_ns` is when the writer was last seen alive, on the server's clock.
    """

    stream: UUID
    who: Who
    first: int
    count: int
    highest: int
    offset_ns: int
    error_ns: int | None
    open_at_ns: int
    alive: bool
    names: Sequence[tuple[str, int]]
    speaks_for: Sequence[str]
    series: Sequence[SeriesKey]
    attrs: Sequence[bytes | None]
    phases: PhaseRows
    events: EventRows
    samples: SampleRows
    rounds: RoundRows
    turns: Sequence[Turn]
    losses: Sequence[Loss]
    opens: Sequence[dict[str, Any]]
    rejects: list[Reject] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Refused:
    """A batch of which nothing can be kept: its stream as the agent spelled it, and why."""

    stream: str
    reason: str


@dataclass(frozen=True, slots=True)
class Job:
    """One request of one team: its batches, when it arrived (server's Unix ns), its bytes once inflated, and the
    batches that were refused at the door.
    """

    team_id: UUID
    arrivals: Sequence[Arrival]
    arrived_ns: int
    size: int = 0
    refused: Sequence[Refused] = ()
