"""A run as a Chrome trace, which Perfetto opens: workers as processes, their phases as nested bars.

Times are whole microseconds since 1970, those of REST.
"""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from typing import Any

from dashboard.runs.exports import trace_events as events
from dashboard.runs.exports.lanes import Lanes, Name
from dashboard.runs.exports.pages import PAGE, Step
from dashboard.runs.exports.trace_events import Event
from ingest.models import Round, Run
from ingest.queries import exported, samples
from ingest.queries.exported import TraceEvent, TraceGap, TracePhase
from ingest.queries.pages import Page, Place
from ingest.queries.samples import SampleFigures

_FIRST_WORKER = 2  # the process of worker 0; that of rounds is the one before
_ROUNDS = -1  # among workers
_FIRST_MACHINE = 1_000_000
# Tells what is new of a thread, and returns its number.
Threaded = Generator[Event, None, int]


class Trace:
    """Makes the trace's text piece by piece."""

    def __init__(self, run: Run, known: dict[str, Any] | None) -> None:
        """Begin, or go on from what `told` said."""
        known = known or {}
        self._run = run
        self._lanes = {key: Lanes(lanes) for key, lanes in known.get("lanes", {}).items()}
        self._threads: dict[str, int] = known.get("threads", {})
        self._machines: dict[str, int] = known.get("machines", {})
        opens = known.get("opens")
        self._opens = exported.open_phases(run) if opens is None else [TracePhase(*one) for one in opens]
        # One that ends while the trace is made stays open in it.
        self._told_open = {(one.stream, one.start) for one in self._opens}
        self._told_open |= {(stream, start) for stream, start in known.get("told_open", [])}

    def told(self) -> dict[str, Any]:
        """What another process needs to go on, as JSON has it."""
        return {
            "lanes": {key: lanes.told() for key, lanes in self._lanes.items()}, "threads": self._threads,
            "machines": self._machines, "told_open": sorted(self._told_open),
            "opens": [[getattr(one, name) for name in TracePhase.__slots__] for one in self._opens],
        }  # fmt: skip

    def head(self) -> bytes:
        """What comes first."""
        about = {"run": self._run.name, "project": self._run.project, "id": str(self._run.pk)}
        told = list(events.process(_pid(_ROUNDS), "rounds", -1))
        for worker in exported.workers(self._run):
            where = f" on {worker.host or worker.machine}" if worker.host or worker.machine else ""
            told += events.process(_pid(worker.index), f"{worker.name} ({worker.role}{where})", worker.index)
        return events.head(about, told)

    def steps(self) -> Sequence[Step]:
        """What stands between head and tail, in this order."""
        return (
            self._step(exported.phases, self._phases),
            self._step(exported.rounds, self._rounds),
            self._step(exported.events, self._events),
            self._step(exported.gaps, self._gaps),
            self._step(samples.by_series, self._readings),
        )

    def _step(self, read: Callable[..., Page[Any]], tell: Callable[[Page[Any]], Iterator[Event]]) -> Step:
        def step(place: Place | None) -> tuple[bytes, int, Place | None]:
            page = read(self._run, after=place, limit=PAGE)
            return events.more(tell(page)), len(page.items), page.next

        return step

    def _phases(self, page: Page[TracePhase]) -> Iterator[Event]:
        for phase in page.items:
            while self._opens and _order(self._opens[0]) < _order(phase):
                yield from self._phase(self._opens.pop(0))
            if (phase.stream, phase.start) not in self._told_open:
                yield from self._phase(phase)
        while page.next is None and self._opens:
            yield from self._phase(self._opens.pop(0))

    def _phase(self, phase: TracePhase) -> Iterator[Event]:
        begin_us, end_us = phase.begin_ns // 1000, phase.end_ns // 1000
        parent = None if phase.parent < 0 else (phase.stream, phase.parent)
        name = (phase.stream, phase.start)
        tid = yield from self._lane(phase.lane, f"thread {phase.thread}", name, parent, begin_us, end_us)
        told = {"round": phase.round, "kind": phase.kind, "state": phase.state, "attrs": phase.attrs}
        if phase.error_ns is not None:
            told["clock_error_us"] = phase.error_ns / 1000
        category = "open" if phase.state == "open" else phase.kind
        yield events.bar(_pid(phase.lane), tid, phase.name, category, begin_us, end_us, told)

    def _rounds(self, page: Page[Round]) -> Iterator[Event]:
        for row in page.items:
            begin_us = row.begin_ns // 1000
            end_us = row.end_ns // 1000 if row.closed and row.end_ns is not None else begin_us
            tid = yield from self._lane(_ROUNDS, "rounds", (row.pk, 0), None, begin_us, end_us)
            told = {
                "index": row.index, "generation": row.generation, "closed": row.closed, "coverage": row.coverage,
                "gpu_waiting_share": row.gpu_waiting_share,
            }  # fmt: skip
            yield events.bar(_pid(_ROUNDS), tid, events.round_name(row), "round", begin_us, end_us, told)

    def _events(self, page: Page[TraceEvent]) -> Iterator[Event]:
        for one in page.items:
            tid = yield from self._thread(one.lane, "events")
            told = {"round": one.round, "attrs": one.attrs}
            yield events.instant(_pid(one.lane), tid, one.name, one.time_ns // 1000, told)

    def _gaps(self, page: Page[TraceGap]) -> Iterator[Event]:
        for place, gap in enumerate(page.items):
            if gap.begin_ns is None:
                continue  # nobody knows when it was
            begin_us = gap.begin_ns // 1000
            end_us = begin_us if gap.end_ns is None else max(gap.end_ns // 1000, begin_us)
            tid = yield from self._lane(gap.lane, "lost records", (-1, place), None, begin_us, end_us)
            told = {"count": gap.count, "what": gap.what, "reason": gap.reason}
            yield events.bar(_pid(gap.lane), tid, f"{gap.count} records lost", "gap", begin_us, end_us, told)

    def _readings(self, page: Page[SampleFigures]) -> Iterator[Event]:
        for one in page.items:
            if one.worker:
                pid = self._workers.get(one.worker, _pid(_ROUNDS))
            else:
                pid = yield from self._machine(one.machine)
            # JSON has no word for what is no number, and a counter no place for it.
            if math.isfinite(one.value):
                name = f"{one.device} {one.metric}".strip() + (f" ({one.unit})" if one.unit else "")
                yield events.counter(pid, name, one.time_ns // 1000, one.value)

    @cached_property
    def _workers(self) -> dict[str, int]:
        return {worker.name: _pid(worker.index) for worker in exported.workers(self._run)}

    def _lane(self, worker: int, group: str, name: Name, parent: Name | None, begin_us: int, end_us: int) -> Threaded:
        lanes = self._lanes.setdefault(f"{worker} {group}", Lanes())
        number = lanes.place(name, parent, begin_us, end_us)
        return (yield from self._thread(worker, group if not number else f"{group}, beside {number}"))

    def _thread(self, worker: int, name: str) -> Threaded:
        """The number of a thread of a process, counted from 1; the first time, its name is told."""
        key = f"{worker} {name}"
        if key not in self._threads:
            number = self._threads[key] = self._threads.get(str(worker), 0) + 1
            self._threads[str(worker)] = number
            yield events.thread(_pid(worker), number, name)
        return self._threads[key]

    def _machine(self, machine: str) -> Threaded:
        if machine not in self._machines:
            pid = self._machines[machine] = _FIRST_MACHINE + len(self._machines)
            yield from events.process(pid, f"machine {machine}", pid)
        return self._machines[machine]


def _pid(worker: int) -> int:
    return worker + _FIRST_WORKER


def _order(phase: TracePhase) -> tuple[int, int, int]:
    return phase.begin_ns, phase.stream, phase.start
