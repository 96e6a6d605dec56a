"""Builders of wire requests: one recorder per stream, written as a training would record, shared by tests.

start = 1_764_000_000_000_000_000
worker = Recorder("trainer-0", began_ns=start)
worker.begin_round(0, start).phase("train", start, start + 10**9, round=0).end_round(0, start + 2 * 10**9)
body = request(worker.batch())
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from roundwatch import wire

SECOND = 1_000_000_000


@dataclass
class Recorder:
    """One attempt of a worker. Times are Unix ns (the batch's `offset_ns` is 0 unless given); numbers count from 0.

    Every call records; `batch()` takes what was recorded since the batch before, as a shipper would.
    """

    worker: str = "trainer-0"
    run: str = "run-1"
    project: str = "digits"
    began_ns: int = 0
    role: str = "trainer"
    machine: str = "machine-1"
    run_found: bool = False
    rank: int | None = None
    stream: str = field(default_factory=lambda: uuid.uuid4().hex)
    next_number: int = 0
    last_ns: int = 0
    _begins: dict[int, int] = field(default_factory=dict)
    _opens: list[wire.OpenPhase] = field(default_factory=list)
    _draft: "_Draft" = field(default_factory=lambda: _Draft(0))

    def identity(self) -> wire.Identity:
        """Whose stream this is."""
        return wire.Identity(
            project=self.project,
            run=self.run,
            run_found=self.run_found,
            worker=self.worker,
            role=self.role,
            rank=self.rank,
            machine=self.machine,
            host=self.machine,
            began_unix_ns=self.began_ns,
        )

    def begin(self, **data: Any) -> Self:
        """The lifecycle's begin, with data such as config or rounds."""
        return self._live("begin", data, self.began_ns)

    def finish(self, time_ns: int, state: str = "finished", **data: Any) -> Self:
        """The end of the attempt, in its own words."""
        return self._live("finish", {"state": state, **data}, time_ns)

    def gone(self, time_ns: int, reason: str = "killed by signal 9") -> Self:
        """The shipper's word that the process is gone."""
        return self._live("gone", {"reason": reason}, time_ns)

    def begin_round(self, index: int, time_ns: int) -> Self:
        """A round begins."""
        self._begins[index] = time_ns
        return self._round(index, 0, time_ns, 0)

    def end_round(self, index: int, time_ns: int) -> Self:
        """A round ends."""
        begin = self._begins[index]
        return self._round(index, 1, begin, time_ns - begin)

    def phase(
        self,
        name: str,
        begin_ns: int,
        end_ns: int,
        *,
        round: int = -1,  # noqa: A002 - the wire's word
        state: str = "ok",
        worker: str | None = None,
        parent: int = -1,
        thread: int = 0,
        clock: int = 0,
        **attrs: Any,
    ) -> Self:
        """A whole phase: its start's number and its end's."""
        start = self._take(begin_ns)
        self._draft.starts.append(start)
        return self._end(name, start, (begin_ns, end_ns), round, state, worker, (thread, parent), clock, attrs)

    def open(self, name: str, begin_ns: int, *, round: int = -1, progress: float | None = None) -> int:  # noqa: A002
        """A phase begins and stays open; returns its start number, for `close`."""
        start = self._take(begin_ns)
        self._draft.starts.append(start)
        self._opens.append(
            wire.OpenPhase(
                start=start,
                begin_ns=begin_ns,
                name=name,
                kind=wire.KIND_NUMBER[wire.kind_of(name)],
                round=round,
                progress=progress,
            )
        )
        return start

    def close(self, start: int, end_ns: int, *, state: str = "ok", **attrs: Any) -> Self:
        """The open phase `start` ends."""
        phase = next(phase for phase in self._opens if phase.start == start)
        self._opens.remove(phase)
        span = (phase.begin_ns, end_ns)
        return self._end(phase.name, start, span, phase.round, state, None, (0, -1), 0, attrs)

    def event(self, name: str, time_ns: int, *, round: int = -1, **attrs: Any) -> Self:  # noqa: A002
        """A named instant."""
        number, draft = self._take(time_ns), self._draft
        row = (number, time_ns, draft.name(name), round, 0, draft.attributes(attrs))
        draft.events.append(row)
        return self

    def sample(
        self,
        metric: str,
        value: float | str,
        time_ns: int,
        *,
        device: str | None = None,
        worker: str | None = None,
        unit: str = "",
        source: str = "host",
        round: int = -1,  # noqa: A002 - the wire's word
    ) -> Self:
        """A reading."""
        number, draft = self._take(time_ns), self._draft
        device_index = -1 if device is None else draft.name(device)
        worker_index = -1 if worker is None else draft.name(worker)
        index = draft.metric(wire.Metric(name=metric, unit=unit, source=source))
        draft.samples.append((number, time_ns, index, device_index, value, worker_index, 0, round))
        return self

    def drop(self, span: int, count: int, *, from_ns: int | None = None, to_ns: int | None = None) -> Self:
        """`span` numbers that stand for `count` lost records."""
        lost = wire.Drop(
            number=self.next_number, span=span, count=count, reason="ring full", from_ns=from_ns, to_ns=to_ns
        )
        self._draft.drops.append(lost)
        self.next_number += span
        return self

    def batch(self, *, offset_ns: int = 0, error_ns: int | None = 1000, alive: bool = True) -> wire.Batch:
        """What was recorded since the last batch; a heartbeat when that is nothing."""
        draft, self._draft = self._draft, _Draft(self.next_number)
        return draft.batch(
            stream=self.stream,
            identity=self.identity(),
            count=self.next_number - draft.first,
            highest=self.next_number - 1,
            offset_ns=offset_ns,
            error_ns=error_ns,
            open_at_ns=self.last_ns,
            alive=alive,
            open=list(self._opens),
        )

    def heartbeat(self, time_ns: int) -> wire.Batch:
        """A batch at `time_ns` of what was recorded, most often nothing."""
        self.last_ns = max(self.last_ns, time_ns)
        return self.batch()

    def _take(self, time_ns: int) -> int:
        self.last_ns = max(self.last_ns, time_ns)
        self.next_number += 1
        return self.next_number - 1

    def _live(self, what: str, data: dict[str, Any], time_ns: int) -> Self:
        number = self._take(time_ns)
        self._draft.lifecycle.append(wire.Lifecycle(number=number, time_ns=time_ns, what=what, data=data))
        return self

    def _round(self, index: int, ended: int, begin_ns: int, duration_ns: int) -> Self:
        number = self._take(begin_ns + duration_ns)
        self._draft.rounds.append((number, index, ended, begin_ns, duration_ns))
        return self

    def _end(
        self,
        name: str,
        start: int,
        span: tuple[int, int],
        index: int,
        state: str,
        worker: str | None,
        place: tuple[int, int],
        clock: int,
        attrs: dict[str, Any],
    ) -> Self:
        number, draft = self._take(span[1]), self._draft
        kind = wire.KIND_NUMBER[wire.kind_of(name)]
        who = -1 if worker is None else draft.name(worker)
        ended = wire.PHASE_STATES.index(state)
        tail = (*place, ended, who, clock, draft.attributes(attrs))
        draft.phases.append((number, start, span[0], span[1] - span[0], draft.name(name), kind, index, *tail))
        return self


@dataclass
class HostRecorder(Recorder):
    """A shipper's own stream: samples of its machine only."""

    def identity(self) -> wire.Identity:
        """The machine's, without run and worker."""
        return wire.Identity(kind="host", machine=self.machine, host=self.machine, began_unix_ns=self.began_ns)


class _Draft:
    """Rows of the batch being written, numbers from `first` on."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.names: list[str] = []
        self.metrics: list[wire.Metric] = []
        self.attrs: list[dict[str, Any]] = []
        self.starts: list[int] = []
        self.phases: list[tuple[Any, ...]] = []
        self.rounds: list[tuple[Any, ...]] = []
        self.events: list[tuple[Any, ...]] = []
        self.samples: list[tuple[Any, ...]] = []
        self.lifecycle: list[wire.Lifecycle] = []
        self.drops: list[wire.Drop] = []

    def name(self, text: str) -> int:
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text)

    def metric(self, metric: wire.Metric) -> int:
        if metric not in self.metrics:
            self.metrics.append(metric)
        return self.metrics.index(metric)

    def attributes(self, attrs: dict[str, Any]) -> int:
        if not attrs:
            return -1
        self.attrs.append(attrs)
        return len(self.attrs) - 1

    def batch(self, **head: Any) -> wire.Batch:
        return wire.Batch(
            first=self.first,
            names=self.names,
            metrics=self.metrics,
            attrs=self.attrs,
            starts=wire.delta(self.starts),
            phases=_columns(wire.PhaseColumns, self.phases, {"number", "start", "begin_ns"}),
            rounds=_columns(wire.RoundColumns, self.rounds, {"number", "begin_ns"}),
            events=_columns(wire.EventColumns, self.events, {"number", "time_ns"}),
            samples=_columns(wire.SampleColumns, self.samples, {"number", "time_ns"}),
            lifecycle=self.lifecycle,
            drops=self.drops,
            **head,
        )


def _columns(kind: Any, rows: list[tuple[Any, ...]], differences: set[str]) -> Any:
    names = list(kind.__dataclass_fields__)
    lists = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in names]
    return kind(
        **{
            name: wire.delta(column) if name in differences else column
            for name, column in zip(names, lists, strict=True)
        }
    )


def request(*batches: wire.Batch) -> wire.Request:
    """One shipper's request with these batches."""
    return wire.Request(t1_ns=1, wall_ns=0, machine="machine-1", batches=list(batches))


def steady_round(
    recorders: Iterable[Recorder], index: int, start_ns: int, *, slow: dict[str, float] | None = None
) -> list[wire.Batch]:
    """One round of every recorder: 4 s train, 1.5 s encode (or `slow[worker]` seconds), 1 s upload, then a barrier.

    All begin at `start_ns` and end together, when the slowest is through; returns one batch each.
    """
    workers = list(recorders)
    seconds = {worker.worker: (slow or {}).get(worker.worker, 1.5) for worker in workers}
    end = start_ns + int((4 + max(seconds.values()) + 1.5) * SECOND)
    batches = []
    for worker in workers:
        trained = start_ns + 4 * SECOND
        encoded = trained + int(seconds[worker.worker] * SECOND)
        uploaded = encoded + SECOND
        worker.begin_round(index, start_ns)
        worker.phase("train", start_ns, trained, round=index)
        worker.phase("encode", trained, encoded, round=index, nbytes=1 << 20)
        worker.phase("upload", encoded, uploaded, round=index)
        worker.phase("barrier", uploaded, end, round=index)
        worker.end_round(index, end)
        batches.append(worker.batch())
    return batches
