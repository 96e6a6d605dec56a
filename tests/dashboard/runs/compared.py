"""Runs to compare, stored for tests: with rounds alone, and with phases, analyses and memory."""

from typing import Any

from dashboard.teams.models import Team
from ingest.models import Run
from ingest.tasks import judge_round
from tests.dashboard.runs_of import add_round, add_workers, make_run
from tests.ingest import scenarios
from tests.ingest.storing import Story, store

CONDITIONS = {"driver": "550.54", "torch": "2.9.1", "memory_bytes": 64 << 30}


def timed_run(team: Team, name: str, wall_s: float, *, rounds: int = 9, **conditions: Any) -> Run:
    """Rounds of about `wall_s` seconds after one of warm-up that took ten times as long; nothing but their length."""
    run = make_run(team, name, conditions=CONDITIONS | conditions, state="finished", config={"lr": 0.1, "name": name})
    add_workers(run, ["machine-a", "machine-b"])
    add_round(run, 0, wall_s * 10)
    for index in range(1, rounds):
        add_round(run, index, wall_s * (1 + 0.001 * (index % 3)), gpu_waiting_share=0.25, coverage=0.9)
    return run


def told_run(team: Team, key: str, *, encode: float = 2.0, rounds: int = 4, workers: int = 2, named: str = "") -> Story:
    """Trainers and a coordinator exchange; each process holds 3 GiB, the coordinator 5 GiB of a model of 1 GiB.

    `named` is what their encoding is called otherwise.
    """
    told = scenarios.exchange(key, scenarios.crew(workers), rounds=rounds, train=30.0, encode=encode)
    story = Story(team, scenarios.renamed(told, "encode", named or "encode"), key=key)
    story.tell()
    at = story.at(story.scenario.rounds[-1][1] - 1)
    for name, recorder in story.recorders.items():
        recorder.sample("process_memory_bytes", float((5 if name == "coordinator" else 3) << 30), at, worker=name)
        store(team, [recorder.batch()])
    Run.objects.filter(pk=story.run.pk).update(model_bytes=1 << 30, conditions=CONDITIONS)
    for index in range(rounds):
        judge_round(str(story.run.pk), index, 0)
    return story
