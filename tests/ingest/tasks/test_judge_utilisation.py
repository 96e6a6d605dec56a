"""Busy devices on which little is computed become a finding from what was sampled, and it ends when they compute."""

import pytest

from ingest.models import Finding
from ingest.tasks import judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.scenarios import Scenario
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db


def waiting(rounds: int, *, until: int) -> Scenario:
    """Two trainers that wait for data through half of each round before `until`, and hardly after."""
    made = scenarios.exchange(
        "waiting", scenarios.crew(2, per_machine=1), rounds=rounds, train=30.0,
        encode=lambda _worker, index: 30.0 if index < until else 1.0,
    )  # fmt: skip
    return scenarios.renamed(made, "encode", "data")


def told(story: Story, index: int, busy: float, *, held: bool = True) -> None:
    """A round in which each trainer's device is so busy."""
    begin_s, end_s = story.scenario.rounds[index]
    for name in ("rank-0", "rank-1"):
        at, recorder = begin_s + 1, story.recorders[name]
        while at < end_s:
            recorder.sample("gpu_utilisation_ratio", busy, story.at(at), device=f"GPU-{name}")
            if held:
                recorder.sample("process_gpu_memory_bytes", 1e9, story.at(at), device=f"GPU-{name}")
            at += 5
    story.tell(index)
    judge_round(str(story.run.pk), index, 0)


def found(story: Story) -> list[tuple[str, list[str], list[int]]]:
    rows = Finding.objects.filter(run=story.run, kind="utilisation_trap")
    return list(rows.values_list("state", "workers", "rounds"))


def test_busy_devices_whose_trainers_wait_for_data_are_told_after_three_rounds_until_they_compute(cast: Cast) -> None:
    story = Story(cast.team, waiting(5, until=4))
    for index in range(2):
        told(story, index, 0.9)
    assert found(story) == []

    for index in (2, 3):
        told(story, index, 0.9)
    assert found(story) == [("open", ["rank-0", "rank-1"], [0, 1, 2, 3])]
    finding = Finding.objects.get(run=story.run, kind="utilisation_trap")
    assert finding.observed.startswith("Devices are 90% utilised, but 4")
    assert finding.severity == "warning"

    told(story, 4, 0.9)
    assert found(story)[0][0] == "resolved"


@pytest.mark.parametrize(("busy", "held"), [(0.7, True), (0.9, False)])
def test_idle_devices_and_those_that_may_be_anothers_are_no_trap(cast: Cast, busy: float, held: bool) -> None:
    story = Story(cast.team, waiting(4, until=4))
    for index in range(4):
        told(story, index, busy, held=held)

    assert found(story) == []
