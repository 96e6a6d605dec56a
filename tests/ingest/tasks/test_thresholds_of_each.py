"""Each policy that lasts over windows judges by what is set for the run, and the findings of its kind say so."""

from collections.abc import Callable

import pytest

from ingest.models import Finding
from ingest.store import thresholds
from ingest.tasks import judge_memory, judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.scenarios import Scenario
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db
MIB, MODEL = float(1 << 20), 256 << 20
Tell = Callable[[Story], None]


def tell(story: Story, *indexes: int) -> None:
    for index in indexes:
        story.tell(index)
        judge_round(str(story.run.pk), index, 0)


def as_it_was(story: Story) -> None:
    tell(story, *range(len(story.scenario.rounds)))


def heavier_stage(story: Story) -> None:
    """rank-2 and rank-3 are a pipeline stage that trains 1.5 times as long."""
    story.tell()
    story.run.workers.filter(name__in=["rank-2", "rank-3"]).update(group="stage-1")
    for index in range(6):
        judge_round(str(story.run.pk), index, 0)


def busy_devices(story: Story) -> None:
    """Devices are 90 % utilised while half of each round waits for data."""
    for index, (begin_s, end_s) in enumerate(story.scenario.rounds):
        for name in ("rank-0", "rank-1"):
            for at in range(int(begin_s) + 1, int(end_s), 5):
                story.recorders[name].sample("gpu_utilisation_ratio", 0.9, story.at(at), device=f"GPU-{name}")
                story.recorders[name].sample("process_gpu_memory_bytes", 1e9, story.at(at), device=f"GPU-{name}")
        tell(story, index)


def exploding_norm(story: Story) -> None:
    """A gradient norm that is 20 times its usual."""
    recorder = story.recorders["rank-0"]
    for value in (*[1.0] * 12, 20.0):
        recorder.sample("grad_norm", value, recorder.last_ns + 1)
    tell(story, 0, 1)


def held(story: Story, *floors: float) -> None:
    """A coordinator that holds so many MiB when each of its rounds is over."""
    recorder = story.recorders["coordinator"].begin(model_bytes=MODEL)
    for index, floor in enumerate(floors):
        begin_s, end_s = story.scenario.rounds[index]
        for at in range(int(begin_s) + 1, int(end_s) - 1, 2):
            recorder.sample("process_memory_bytes", 4_000 * MIB, story.at(at))
        recorder.sample("process_memory_bytes", floor * MIB, story.at(end_s))
        tell(story, index)


def growing(story: Story) -> None:
    """One model copy more each round."""
    held(story, *(1_000.0 + 256 * index for index in range(9)))


def collected(story: Story) -> None:
    """A collection frees 7.8 model copies."""
    freed = {"seconds": 0.1, "memory_before_bytes": 3_000 * MIB, "memory_after_bytes": 1_000 * MIB}
    story.recorders["coordinator"].event("gc", story.at(story.scenario.rounds[0][0] + 20), **freed)
    held(story, 1_000, 1_000)


def retained(story: Story) -> None:
    """1.05 model copies stay when the run is over."""
    held(story, 1_000, 1_100, 1_270)
    story.finish()
    recorder = story.recorders["coordinator"]
    for step in range(1, 33):
        recorder.sample("process_memory_bytes", 1_270 * MIB, story.at(story.scenario.rounds[-1][1] + 2 * step))
    store(story.team, [recorder.batch(alive=False)])
    judge_memory(str(story.run.pk))


def healthy(rounds: int) -> Scenario:
    return scenarios.healthy(2, rounds, noise=0.0)


def stages() -> Scenario:
    return scenarios.exchange(
        "stages", scenarios.crew(4), rounds=6, encode=2.0,
        train=lambda worker, _index: 30.0 if worker in ("rank-2", "rank-3") else 20.0,
    )  # fmt: skip


def waiting() -> Scenario:
    made = scenarios.exchange("waiting", scenarios.crew(2, per_machine=1), rounds=4, train=30.0, encode=30.0)
    return scenarios.renamed(made, "encode", "data")


CASES: list[tuple[Scenario, Tell, str, str, float, float]] = [
    (stages(), heavier_stage, "imbalance", "imbalance.ratio", 2.0, 1.2),
    (healthy(3), as_it_was, "work_on_path", "work_on_path.share", 60.0, 4.0),
    (waiting(), busy_devices, "utilisation_trap", "utilisation_trap.busy", 95.0, 85.0),
    (healthy(2), exploding_norm, "training_unhealthy", "training_health.times", 30.0, 15.0),
    (healthy(9), growing, "memory_growth", "memory.slope_copies", 2.0, 0.5),
    (healthy(2), collected, "reference_cycle", "memory.fall_copies", 10.0, 5.0),
    (healthy(3), retained, "memory_retained", "memory.retained_copies", 1.5, 0.9),
]


@pytest.mark.parametrize(
    ("scenario", "told", "kind", "key", "hides", "keeps"),
    CASES,
    ids=[key for _, _, _, key, _, _ in CASES],
)
def test_what_is_set_for_the_run_changes_what_is_found_and_its_kind_alone_says_so(
    cast: Cast, scenario: Scenario, told: Tell, kind: str, key: str, hides: float, keeps: float
) -> None:
    found = {}
    for value in (None, hides, keeps):
        story = Story(cast.team, scenario, key=f"run-{value}")
        story.recorders["coordinator"].begin()
        store(cast.team, [story.recorders["coordinator"].batch()])
        thresholds.change(cast.team.pk, story.run, {key: value}, cast.owner.pk)
        told(story)
        found[value] = list(Finding.objects.filter(run=story.run).exclude(workers=[]))

    assert kind in {one.kind for one in found[None]}
    assert kind not in {one.kind for one in found[hides]}
    said = {one.kind: [each["key"] for each in one.evidence.get("thresholds", [])] for one in found[keeps]}
    assert said == {one.kind: [key] if one.kind == kind else [] for one in found[keeps]}
    assert kind in said
    assert not any("thresholds" in one.evidence for one in (*found[None], *found[hides]))
