"""A scenario in the order of time: the next round is made when its begin is reached, with what has failed by then."""

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from roundwatch import wire
from roundwatch.lab.recorder import Recorder
from roundwatch.lab.shapes import Act, Did, Happened, Read, Scenario, Who

Ns = Callable[[float], int]
Record = Callable[[Recorder, Ns], None]
# What comes first of what happens at one instant.
_PHASE_ENDS, _TOLD, _ROUND_ENDS, _NEWCOMERS, _ROUND_BEGINS, _PHASE_BEGINS = range(6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that one worker records; or workers that begin anew; or, without either, the end of all."""

    at_s: float
    worker: str = ""
    record: Record | None = None
    newcomers: tuple[Who, ...] = ()


class Timeline:
    """Moments one after the other."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._waiting: list[tuple[float, int, int, Moment]] = []
        self._order = itertools.count()
        self._next, self._next_s, self._ended = 0, 0.0, False
        self.reached_s = self.end_s = 0.0

    @property
    def over(self) -> bool:
        """Whether there is nothing more to come."""
        return self._ended and not self._waiting

    def take(self, until_s: float, failing: Callable[[float], frozenset[str]]) -> Moment | None:
        """The next moment if it is reached by `until_s`; `failing` says what has failed at a round's begin."""
        self._make(until_s, failing)
        if not self._waiting or self._waiting[0][0] > until_s:
            return None
        moment = heapq.heappop(self._waiting)[3]
        self.reached_s = max(self.reached_s, moment.at_s)
        return moment

    def _make(self, until_s: float, failing: Callable[[float], frozenset[str]]) -> None:
        """Makes the next round where nothing before its begin is left to tell."""
        while not self._ended:
            if self._waiting and self._waiting[0][0] < self._next_s:
                return
            if self._next == self._scenario.rounds:
                if not self._waiting:
                    self._end()
                return
            if self._next_s > until_s:
                return
            self._add(self._scenario.make(self._next, self._next_s, failing(self._next_s)))

    def _add(self, act: Act) -> None:
        index, self._next, begin_s = self._next, self._next + 1, self._next_s
        self._next_s = act.next_s
        newcomers = self._scenario.moved.get(index, ())
        if newcomers:
            self._push(begin_s, _NEWCOMERS, Moment(at_s=begin_s, newcomers=newcomers))
        for worker, (begin, end) in act.part.items():
            self._push(begin, _ROUND_BEGINS, _moment(begin, worker, _round_begin(index, begin)))
            self._push(end, _ROUND_ENDS, _moment(end, worker, _round_end(index, begin, end)))
        for place, did in enumerate(act.phases):
            key, around = (index, place), None if did.inside is None else (index, did.inside)
            self._push(did.begin_s, _PHASE_BEGINS, _moment(did.begin_s, did.worker, _begin(key, did, around, index)))
            self._push(did.end_s, _PHASE_ENDS, _moment(did.end_s, did.worker, _end(key, did)))
        for read in act.reads:
            self._push(read.at_s, _TOLD, _moment(read.at_s, read.worker, _sample(read, index)))
        for one in act.events:
            self._push(one.at_s, _TOLD, _moment(one.at_s, one.worker, _event(one, index)))

    def _end(self) -> None:
        """Everybody finishes when the last is through; what is read afterwards follows."""
        self._ended = True
        self.end_s = self.reached_s
        self._push(self.end_s, _TOLD, Moment(at_s=self.end_s))
        for read in self._scenario.after(self.end_s):
            self._push(read.at_s, _TOLD, _moment(read.at_s, read.worker, _sample(read, -1)))
            self.end_s = max(self.end_s, read.at_s)

    def _push(self, at_s: float, rank: int, moment: Moment) -> None:
        heapq.heappush(self._waiting, (at_s, rank, next(self._order), moment))


def moments(scenario: Scenario, failing: frozenset[str] = frozenset()) -> Iterator[Moment]:
    """All of it."""
    timeline = Timeline(scenario)
    while (moment := timeline.take(float("inf"), lambda _at_s: failing)) is not None:
        yield moment


def _moment(at_s: float, worker: str, record: Record) -> Moment:
    return Moment(at_s=at_s, worker=worker, record=record)


def _round_begin(index: int, begin: float) -> Record:
    return lambda recorder, ns: recorder.begin_round(index, ns(begin))


def _round_end(index: int, begin: float, end: float) -> Record:
    return lambda recorder, ns: recorder.end_round(index, ns(begin), ns(end))


def _begin(key: tuple[int, int], did: Did, around: tuple[int, int] | None, index: int) -> Record:
    return lambda recorder, ns: recorder.begin(key, did, around, index, ns(did.begin_s))


def _end(key: tuple[int, int], did: Did) -> Record:
    return lambda recorder, ns: recorder.end(key, did, ns(did.end_s))


def _sample(read: Read, index: int) -> Record:
    metric = wire.Metric(name=read.metric, unit=read.unit, source=read.source)
    return lambda recorder, ns: recorder.sample(metric, read.value, index, ns(read.at_s))


def _event(one: Happened, index: int) -> Record:
    return lambda recorder, ns: recorder.event(one.name, index, ns(one.at_s), one.attrs)
