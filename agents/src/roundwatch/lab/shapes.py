"""What a scenario is made of: workers, and for each round their phases, readings and events. Seconds throughout."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from roundwatch import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """A worker. `machine` is the physical one under it; workers with the same run on one."""

    name: str
    machine: str
    role: str = "trainer"
    rank: int | None = None
    group: str | None = None
    site: str | None = None
    conditions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Did:
    """One phase. `inside` is the place, in the act's phases, of the phase around it."""

    worker: str
    name: str
    begin_s: float
    end_s: float
    attrs: Mapping[str, Any] = field(default_factory=dict)
    inside: int | None = None
    thread: int = 0
    kind: str = ""

    @property
    def kind_number(self) -> int:
        """Its kind as the wire has it: by its name unless it says another."""
        return wire.KIND_NUMBER[self.kind or wire.kind_of(self.name)]


@dataclass(frozen=True, slots=True)
class Read:
    """One reading; `source` and `unit` as in `wire.Metric`."""

    worker: str
    metric: str
    value: float
    at_s: float
    unit: str = ""
    source: str = "training"


@dataclass(frozen=True, slots=True)
class Happened:
    """A named instant."""

    worker: str
    name: str
    at_s: float
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """All of one round. `part` is each worker's (begin, end) of it; the next round is made at `next_s`."""

    part: Mapping[str, tuple[float, float]]
    phases: tuple[Did, ...]
    next_s: float
    reads: tuple[Read, ...] = ()
    events: tuple[Happened, ...] = ()


Make = Callable[[int, float, frozenset[str]], Act]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A named story.

    `make(index, begin_s, failing)` gives a round that begins then, with the failures that were triggered so
    far. `failures` maps a key to what it triggers and after how many seconds that happens by itself. `moved`
    says of rounds before which workers begin anew, as what. `after(end_s)` are readings after the end.
    """

    name: str
    about: str
    workers: tuple[Who, ...]
    rounds: int
    make: Make
    config: Mapping[str, Any] = field(default_factory=dict)
    model_bytes: int | None = None
    failures: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    moved: Mapping[int, tuple[Who, ...]] = field(default_factory=dict)
    after: Callable[[float], tuple[Read, ...]] = lambda _end_s: ()

    def acts(self, failing: frozenset[str] = frozenset()) -> list[Act]:
        """All rounds one after the other, the first at 0 s, as they are when nothing is triggered on the way."""
        found: list[Act] = []
        for index in range(self.rounds):
            found.append(self.make(index, found[-1].next_s if found else 0.0, failing))
        return found

    def seconds(self) -> float:
        """How long the whole of it takes, the readings after its end included."""
        acts = self.acts()
        end = max((end for act in acts for _, end in act.part.values()), default=0.0)
        return max([end, *(read.at_s for read in self.after(end))])
