"""A scenario's round while it goes on: each worker's records as of some second, open phases among them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dashboard.teams.models import Team
from tests.ingest.scenarios import Did, Scenario
from tests.ingest.storing import Story, store


@dataclass
class Playing:
    """Round `index` of a story; what was stored is not stored again. Seconds are those of the scenario."""

    story: Story
    index: int
    _begun: set[str] = field(default_factory=set)
    _open: dict[tuple[str, str, float], int] = field(default_factory=dict)
    _done: set[tuple[str, str, float]] = field(default_factory=set)

    def upto(self, at_s: float, *, but: tuple[str, ...] = ()) -> None:
        """Store what all workers but some have told by `at_s`: ended phases, and a heartbeat with those still open."""
        batches = []
        for name in self.story.recorders:
            if name not in but:
                self._record(name, at_s)
                batches.append(self.story.recorders[name].heartbeat(self.story.at(at_s)))
        store(self.story.team, batches)

    def end(self, *, but: tuple[str, ...] = ()) -> None:
        """Store all that is left of the round, and its end, but for the end that some do not tell."""
        end_s = self.story.scenario.rounds[self.index][1]
        for name in self.story.recorders:
            self._record(name, end_s)
            if name not in but:
                self.story.recorders[name].end_round(self.index, self.story.at(end_s))
        store(self.story.team, [one.heartbeat(self.story.at(end_s)) for one in self.story.recorders.values()])

    def _record(self, name: str, at_s: float) -> None:
        story, recorder = self.story, self.story.recorders[name]
        if name not in self._begun:
            self._begun.add(name)
            recorder.begin_round(self.index, story.at(story.scenario.rounds[self.index][0]))
        for did in story.scenario.phases:
            if did.worker == name and did.round == self.index and did.begin_s <= at_s:
                self._phase(did, at_s)

    def _phase(self, did: Did, at_s: float) -> None:
        story, recorder = self.story, self.story.recorders[did.worker]
        key = (did.worker, did.name, did.begin_s)
        if key in self._done:
            return
        if key not in self._open:
            self._open[key] = recorder.open(did.name, story.at(did.begin_s), round=self.index)
        if did.end_s <= at_s:
            self._done.add(key)
            recorder.close(self._open[key], story.at(did.end_s), **did.attrs)


def playing(team: Team, scenario: Scenario, *, at_s: float | None = None, key: str = "run-1") -> Playing:
    """The last round of a scenario, the others told; its second `at_s` is now (a little after its end by default)."""
    now_s = scenario.rounds[-1][1] + 2 if at_s is None else at_s
    last = len(scenario.rounds) - 1
    story = Story(team, scenario, key=key, begin_ns=time.time_ns() - round(now_s * 1e9))
    for index in range(last):
        story.tell(index)
    return Playing(story, last)


def eventually(condition: Callable[[], object], within_s: float = 20) -> None:
    """Wait until the condition holds; fail where it does not in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)
