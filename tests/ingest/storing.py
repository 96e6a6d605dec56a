"""Scenarios written into the database by way of the store, as if agents had sent them."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from dashboard.teams.models import Team
from ingest.api.decode import job
from ingest.models import Run
from ingest.store import rounds, telemetry
from ingest.store.rounds import ClosedRound
from roundwatch import wire
from tests.ingest.batches import Recorder, request
from tests.ingest.scenarios import Scenario


@dataclass
class Story:
    """A scenario being told round by round; its begin lies so far back that all of it is past."""

    team: Team
    scenario: Scenario
    key: str = "run-1"
    begin_ns: int = 0
    recorders: dict[str, Recorder] = field(default_factory=dict)

    def __post_init__(self) -> None:
        length_s = max((did.end_s for did in self.scenario.phases), default=0.0)
        self.begin_ns = self.begin_ns or time.time_ns() - int((length_s + 5) * 1e9)
        for rank, who in enumerate(self.scenario.workers):
            recorder = Recorder(
                worker=who.name, role=who.role, run=self.key, machine=who.machine, rank=rank, began_ns=self.begin_ns
            )
            recorder.last_ns = self.begin_ns
            self.recorders[who.name] = recorder.begin(rounds=len(self.scenario.rounds))

    @property
    def run(self) -> Run:
        """The run's row."""
        return Run.objects.get(team=self.team, key=self.key)

    def at(self, seconds: float) -> int:
        """A time of the scenario in Unix nanoseconds."""
        return self.begin_ns + round(seconds * 1e9)

    def tell(self, *indexes: int, but: Iterable[str] = ()) -> list[ClosedRound]:
        """Store these rounds (all by default) of all workers but some; returns what closed."""
        closed: list[ClosedRound] = []
        for index in indexes or range(len(self.scenario.rounds)):
            store(self.team, [self.round_of(name, index) for name in self.recorders if name not in set(but)])
            closed += rounds.close_ended(self.run.pk)
        return closed

    def round_of(self, name: str, index: int) -> wire.Batch:
        """One worker's records of a round."""
        recorder, (begin_s, end_s) = self.recorders[name], self.scenario.rounds[index]
        recorder.begin_round(index, self.at(begin_s))
        starts: dict[int, int] = {}
        for place, did in enumerate(self.scenario.phases):
            if did.worker == name and did.round == index:
                starts[place] = recorder.next_number
                recorder.phase(
                    did.name, self.at(did.begin_s), self.at(did.end_s), round=index, thread=did.thread,
                    parent=-1 if did.parent is None else starts[did.parent], **did.attrs,
                )  # fmt: skip
        recorder.end_round(index, self.at(end_s))
        return recorder.batch()

    def finish(self) -> None:
        """All workers end."""
        end = self.at(self.scenario.rounds[-1][1])
        store(self.team, [recorder.finish(end).batch(alive=False) for recorder in self.recorders.values()])


def store(team: Team, batches: Iterable[wire.Batch]) -> list[wire.Result]:
    """What the store answers to one request with these batches; fails where it refuses it."""
    body = wire.encode(request(*batches))
    (outcome,) = telemetry.write([job(UUID(str(team.pk)), body, "gzip", time.time_ns())]).outcomes
    assert outcome.fault is None, outcome.fault
    return outcome.results
