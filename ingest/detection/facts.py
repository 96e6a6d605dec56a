"""What detection is given: workers, spans as columns, and the windows of rounds that it judges."""

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ingest.detection.wording import ROUNDS, Words

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Kind(enum.IntEnum):
    """What a phase does; the numbers are those of the wire."""

    COMPUTE = 0
    INPUT = 1
    ENCODE = 2
    TRANSFER = 3
    AGGREGATE = 4
    PERSIST = 5
    APPLY = 6
    WAIT = 7
    OTHER = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A participant of the run; `lane` is its number there, `device` a model name. Unknown texts are empty."""

    lane: int
    name: str
    role: str = "trainer"
    machine: str = ""
    host: str = ""
    group: str = ""
    site: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spans:
    """Ended phases as columns of one length; a span's identity is (attempt, start).

    Times are int64 Unix nanoseconds on the server's clock, `error_ns` the clock error (-1 unknown), `name`
    and `after` index `names` (-1: none), `items` and `nbytes` are NaN where the training did not say.
    """

    lane: Ints
    attempt: Ints
    start: Ints
    parent: Ints
    thread: Ints
    name: Ints
    kind: Ints
    round: Ints
    begin_ns: Ints
    end_ns: Ints
    error_ns: Ints
    after: Ints
    items: Floats
    nbytes: Floats
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.start)

    def chosen(self, rows: Ints) -> "Spans":
        """The spans in these places, with the same names."""
        columns = [name for name in self.__slots__ if name != "names"]
        return Spans(**{name: getattr(self, name)[rows] for name in columns}, names=self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The unit of judgement: one round, or the fewest short ones that fill ten seconds.

    `round_s` is the typical wall time of one of its rounds in seconds; `cold` are the lanes that still warm
    up in it.
    """

    rounds: tuple[int, ...]
    end_ns: int
    round_s: float
    cold: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a worker's phase took before the incident that is still open; frozen until that is over. Seconds."""

    phase: str
    lane: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """The window to judge, last, after those before it, with the spans of all of them; `words` of what is said."""

    workers: tuple[Worker, ...]
    windows: tuple[Window, ...]
    spans: Spans
    baselines: tuple[Baseline, ...] = ()
    words: Words = ROUNDS
