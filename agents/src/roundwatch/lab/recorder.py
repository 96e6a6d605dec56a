"""One worker's stream in a scenario: records as they are told, and the batches that carry them."""

import os
import uuid
from collections.abc import Mapping
from typing import Any

from roundwatch import wire
from roundwatch.batches import columns
from roundwatch.lab.shapes import Did, Who


class Recorder:
    """One attempt of one worker. Times are Unix nanoseconds of the server's clock; numbers count from 0.

    `batch()` takes what was recorded since the batch before, or a heartbeat where that is nothing.
    """

    def __init__(self, who: Who, *, project: str, run: str, began_ns: int, world_size: int) -> None:
        self.next = 0
        self.sent_ns = 0
        self._stream, self._last_ns = uuid.uuid4().hex, began_ns
        self._open: dict[int, wire.OpenPhase] = {}
        self._places: dict[Any, int] = {}
        self._identity = wire.Identity(
            project=project, run=run, worker=who.name, role=who.role, rank=who.rank, group=who.group,
            world_size=world_size if who.rank is not None else None, machine=f"lab-{who.machine}", host=who.machine,
            site=who.site, pid=os.getpid(), began_unix_ns=began_ns,
        )  # fmt: skip
        self._clear()

    def turn(self, what: str, at_ns: int, data: Mapping[str, Any]) -> None:
        """A turn in the attempt's life, as `wire.Lifecycle` has it."""
        number = self._take(at_ns)
        self._lives.append(wire.Lifecycle(number=number, time_ns=at_ns, what=what, data=dict(data)))

    def begin_round(self, index: int, at_ns: int) -> None:
        """A round begins."""
        self._rounds.append((self._take(at_ns), index, 0, at_ns, 0))

    def end_round(self, index: int, begin_ns: int, at_ns: int) -> None:
        """A round ends that began at `begin_ns`."""
        self._rounds.append((self._take(at_ns), index, 1, begin_ns, at_ns - begin_ns))

    def begin(self, key: Any, did: Did, around: Any, index: int, at_ns: int) -> None:
        """A phase begins and stays open; `key` names it until it ends, `around` the phase that it is in."""
        number = self._take(at_ns)
        self._starts.append(number)
        self._places[key] = number
        self._open[number] = wire.OpenPhase(
            start=number, begin_ns=at_ns, name=did.name, kind=did.kind_number, round=index, thread=did.thread,
            parent=self._places.get(around, -1),
        )  # fmt: skip

    def end(self, key: Any, did: Did, at_ns: int) -> None:
        """The phase `key` ends."""
        number, phase = self._take(at_ns), self._open.pop(self._places[key])
        self._phases.append(
            (number, phase.start, phase.begin_ns, at_ns - phase.begin_ns, self._name(did.name), phase.kind, phase.round,
             phase.thread, phase.parent, 0, -1, 0, self._attributes(did.attrs))
        )  # fmt: skip

    def event(self, name: str, index: int, at_ns: int, attrs: Mapping[str, Any]) -> None:
        """A named instant."""
        self._events.append((self._take(at_ns), at_ns, self._name(name), index, 0, self._attributes(attrs)))

    def sample(self, metric: wire.Metric, value: float, index: int, at_ns: int) -> None:
        """A reading."""
        if metric not in self._metrics:
            self._metrics.append(metric)
        self._samples.append((self._take(at_ns), at_ns, self._metrics.index(metric), -1, value, -1, 0, index))

    def waiting(self) -> int:
        """How many records the next batch carries."""
        return self.next - self._first

    def batch(self, at_ns: int, error_ns: int | None) -> wire.Batch:
        """What was recorded, as of `at_ns`."""
        self._last_ns = max(self._last_ns, at_ns)
        made = wire.Batch(
            stream=self._stream, identity=self._identity, first=self._first, count=self.waiting(),
            highest=self.next - 1, error_ns=error_ns, open_at_ns=self._last_ns, names=self._names,
            metrics=self._metrics, attrs=self._attrs, starts=wire.delta(self._starts), lifecycle=self._lives,
            open=list(self._open.values()),
        )  # fmt: skip
        if self._phases:
            made.phases = columns(wire.PhaseColumns, self._phases, ("number", "start", "begin_ns"))
        if self._rounds:
            made.rounds = columns(wire.RoundColumns, self._rounds, ("number", "begin_ns"))
        if self._events:
            made.events = columns(wire.EventColumns, self._events, ("number", "time_ns"))
        if self._samples:
            made.samples = columns(wire.SampleColumns, self._samples, ("number", "time_ns"))
        self._clear()
        return made

    def _clear(self) -> None:
        self._first = self.next
        self._names: list[str] = []
        self._metrics: list[wire.Metric] = []
        self._attrs: list[dict[str, Any]] = []
        self._starts: list[int] = []
        self._lives: list[wire.Lifecycle] = []
        self._phases: list[tuple[Any, ...]] = []
        self._rounds: list[tuple[Any, ...]] = []
        self._events: list[tuple[Any, ...]] = []
        self._samples: list[tuple[Any, ...]] = []

    def _take(self, at_ns: int) -> int:
        self._last_ns = max(self._last_ns, at_ns)
        self.next += 1
        return self.next - 1

    def _name(self, text: str) -> int:
        if text not in self._names:
            self._names.append(text)
        return self._names.index(text)

    def _attributes(self, attrs: Mapping[str, Any]) -> int:
        if not attrs:
            return -1
        self._attrs.append(dict(attrs))
        return len(self._attrs) - 1
