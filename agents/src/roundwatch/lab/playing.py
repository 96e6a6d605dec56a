"""Plays a scenario to a server: in real time, faster, or at once as history.

Durations are always the scenario's own. Played faster, or as history, it lies in the past: so that it ends about
now, its begin is moved back by what is saved.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from roundwatch.lab.recorder import Recorder
from roundwatch.lab.shapes import Scenario, Who
from roundwatch.lab.telling import Teller
from roundwatch.lab.timeline import Moment, Timeline

TICK_S = 0.2
HEARTBEAT_NS = 850_000_000
MOST_RECORDS = 4_000  # of a request


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How to play: `speed` seconds of the scenario a second, infinite for history that ended `ago_s` ago.

    What is before round `since` is told at once, as if it had just happened.
    """

    project: str
    run: str
    speed: float = 1.0
    ago_s: float = 0.0
    since: int = 0


class Player:
    """One performance. `triggered` is asked at each tick which failures people ask for."""

    def __init__(
        self, scenario: Scenario, teller: Teller, wishes: Wishes,
        triggered: Callable[[], frozenset[str]] = frozenset,
    ) -> None:  # fmt: skip
        self._scenario, self._teller, self._wishes, self._triggered = scenario, teller, wishes, triggered
        self._failing: frozenset[str] = frozenset()
        self._recorders: dict[str, Recorder] = {}
        self._origin_ns = 0
        self._timeline = Timeline(scenario)

    def play(self) -> None:
        """From begin to end. Raises NotTakenError; on KeyboardInterrupt the workers end as killed."""
        self._teller.meet()
        speed, length, skipped = self._wishes.speed, self._scenario.seconds(), self._skipped_s()
        saved = length if math.isinf(speed) else skipped + (length - skipped) * (1 - 1 / speed)
        self._origin_ns = self._teller.now_ns() - round((max(0.0, saved) + self._wishes.ago_s) * 1e9)
        try:
            self._begin(self._scenario.workers, 0.0)
            if math.isinf(speed):
                self._all_at_once()
            else:
                self._as_it_happens(speed, skipped)
        except KeyboardInterrupt:
            self._end("killed", self._timeline.reached_s)
            self._send(self._timeline.reached_s, everything=True)
            raise

    def _all_at_once(self) -> None:
        self._record_until(math.inf)
        self._send(self._timeline.reached_s, everything=True)

    def _record_until(self, until_s: float) -> None:
        while (moment := self._timeline.take(until_s, self._failures)) is not None:
            self._record(moment)
            if sum(one.waiting() for one in self._recorders.values()) >= MOST_RECORDS:
                self._send(moment.at_s, everything=False)

    def _skipped_s(self) -> float:
        """When the round begins from which on it is played."""
        since = self._wishes.since
        return self._scenario.acts()[since - 1].next_s if since else 0.0

    def _as_it_happens(self, speed: float, skipped_s: float) -> None:
        began = time.monotonic()
        over = False
        while not over:
            now_s = skipped_s + (time.monotonic() - began) * speed
            self._failing |= self._triggered()
            self._record_until(now_s)
            over = self._timeline.over
            at_s = min(now_s, self._timeline.end_s) if over else now_s
            self._send(at_s, everything=over)
            if not over:
                time.sleep(TICK_S)

    def _failures(self, at_s: float) -> frozenset[str]:
        """What has failed when a round begins at `at_s`."""
        by_time = {key for key, (_, after_s) in self._scenario.failures.items() if at_s >= after_s}
        return self._failing | by_time

    def _record(self, moment: Moment) -> None:
        if moment.newcomers:
            self._begin(moment.newcomers, moment.at_s)
        elif moment.record is None:
            self._end("finished", moment.at_s)
        else:
            moment.record(self._recorders[moment.worker], self._ns)

    def _begin(self, workers: tuple[Who, ...], at_s: float) -> None:
        """A new attempt for each; the one before has finished."""
        scenario = self._scenario
        world = sum(who.rank is not None for who in scenario.workers)
        for who in workers:
            if who.name in self._recorders:
                self._recorders[who.name].turn("finish", self._ns(at_s), {"state": "finished"})
                self._send(at_s, everything=True)
            made = Recorder(
                who, project=self._wishes.project, run=self._wishes.run, began_ns=self._ns(at_s), world_size=world
            )
            data = {
                "name": scenario.name, "config": dict(scenario.config), "tags": ["lab"], "rounds": scenario.rounds,
                "model_bytes": scenario.model_bytes, "flops_per_item": None, "conditions": dict(who.conditions),
            }  # fmt: skip
            made.turn("begin", self._ns(at_s), data)
            self._recorders[who.name] = made

    def _end(self, state: str, at_s: float) -> None:
        for one in self._recorders.values():
            one.turn("finish", self._ns(at_s), {"state": state})

    def _send(self, at_s: float, *, everything: bool) -> None:
        """What was recorded, and a heartbeat of each worker that was not heard for a while."""
        now, error = time.monotonic_ns(), self._teller.error_ns()
        batches = []
        for one in self._recorders.values():
            if one.waiting() or everything or now - one.sent_ns >= HEARTBEAT_NS:
                batches.append(one.batch(self._ns(at_s), error))
                one.sent_ns = now
        if batches:
            self._teller.tell(batches)

    def _ns(self, at_s: float) -> int:
        return self._origin_ns + round(at_s * 1e9)
