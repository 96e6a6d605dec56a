"""What was sampled of slow workers while their phase ran explains them, where it is not so of their peers too."""

from typing import Any

import pytest

from ingest.models import Finding, Round
from ingest.tasks import judge_round
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db
MACHINE = "Both run on one physical machine (machine-3), which none of the others uses."


def told(story: Story, *readings: tuple[str, str, float, float], device: str | None = None) -> None:
    """Store readings: (worker, metric, second of the scenario, value)."""
    for worker, metric, at_s, value in readings:
        story.recorders[worker].sample(metric, value, story.at(at_s), device=device)
    store(story.team, [recorder.batch() for recorder in story.recorders.values()])


def judged(story: Story) -> dict[str, Any]:
    """The finding of the slow encoders."""
    for row in Round.objects.filter(run=story.run).order_by("index"):
        judge_round(str(story.run.pk), row.index, row.generation)
    found = Finding.objects.get(run=story.run, kind="straggler")
    return {"hypothesis": found.hypothesis, **found.evidence}


def slow_encoders(cast: Cast) -> tuple[Story, float]:
    """The story, told, and the second in which its slow encoders begin."""
    story = Story(cast.team, scenarios.two_slow_encoders())
    story.tell()
    phases = story.scenario.phases
    return story, next(did.begin_s for did in phases if (did.worker, did.name, did.round) == ("rank-6", "encode", 1))


def test_throttling_and_a_quota_below_the_threads_in_use_explain_slow_encoders(cast: Cast) -> None:
    story, at = slow_encoders(cast)
    for rank in range(16):
        slow = rank in (6, 7)
        quota, ratio = (4.0, 0.6) if slow else (64.0, 0.0)
        times = [at + second for second in range(2, 18, 2)] if slow else [at + 1.0]
        told(
            story,
            *[(f"rank-{rank}", "cgroup_cpu_quota_cpus", at - 9, quota), (f"rank-{rank}", "process_threads", at, 64.0)],
            *[(f"rank-{rank}", "cgroup_cpu_throttled_ratio", one, ratio) for one in times],
        )

    found = judged(story)

    assert found["causes"] == ["machine", "throttled", "quota"]
    assert found["hypothesis"] == (
        f"{MACHINE} Their CPU quota throttled them for 60% of the phase."
        " Their quota is 4 CPUs, but 64 threads were in use."
    )


def test_what_held_before_the_phase_or_of_the_peers_too_explains_nothing(cast: Cast) -> None:
    story, at = slow_encoders(cast)
    for rank in range(16):
        worker = f"rank-{rank}"
        told(
            story,
            *[(worker, "cgroup_cpu_throttled_ratio", at - 4, 0.9 if rank in (6, 7) else 0.0)],
            *[(worker, "cgroup_cpu_throttled_ratio", at + second, 0.0) for second in (-2, 0, 2, 19)],
            *[(worker, "cgroup_cpu_quota_cpus", at, 32.0), (worker, "visible_cpus", at, 64.0)],
        )

    found = judged(story)

    assert (found["causes"], found["hypothesis"]) == (["machine"], MACHINE)


def test_two_workers_on_one_device_are_told_of_each_other(cast: Cast) -> None:
    story, at = slow_encoders(cast)
    for rank in range(16):
        device = "GPU-6" if rank in (6, 7) else f"GPU-{rank}"
        told(story, (f"rank-{rank}", "process_gpu_memory_bytes", at + 1, 1e9), device=device)

    found = judged(story)

    assert found["causes"] == ["machine", "device"]
    assert "rank-6 and rank-7 compute on one device." in found["hypothesis"]


def test_where_nothing_was_sampled_that_is_said(cast: Cast) -> None:
    story = Story(cast.team, scenarios.two_of_four())
    story.tell()

    found = judged(story)

    assert (found["causes"], found["hypothesis"]) == ([], "")
    assert found["no_cause"] == "nothing was sampled of them while the phase ran"
