"""Memory that was read becomes findings: growth and cycles as rounds close, with what holds the objects; over again."""

from typing import Any

import pytest

from ingest.models import Finding, Run
from ingest.tasks import judge_memory, judge_round
from ingest.watch import Afterwards
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db
MIB, MODEL = float(1 << 20), 256 << 20


def story_of(cast: Cast, rounds: int) -> Story:
    story = Story(cast.team, scenarios.healthy(2, rounds, noise=0.0))
    for recorder in story.recorders.values():
        recorder.begin(model_bytes=MODEL)
    return story


def told(story: Story, index: int, floor: float, *, peak: float = 4_000 * MIB, worker: str = "coordinator") -> None:
    """A round in which the worker's memory is read every two seconds: high, and as `floor` when it is over."""
    begin_s, end_s = story.scenario.rounds[index]
    at = begin_s + 1
    recorder = story.recorders[worker]
    while at < end_s - 1:
        recorder.sample("process_memory_bytes", peak, story.at(at))
        at += 2
    recorder.sample("process_memory_bytes", floor, story.at(end_s))
    recorder.sample("cgroup_memory_limit_bytes", 8_192 * MIB, story.at(end_s))
    story.tell(index)
    judge_round(str(story.run.pk), index, 0)


def kinds(story: Story) -> set[tuple[str, str]]:
    rows = Finding.objects.filter(run=story.run).exclude(severity="info")
    return set(rows.values_list("kind", "state"))


def test_a_coordinator_that_keeps_a_model_each_round_grows_until_it_gives_them_back(cast: Cast) -> None:
    story = story_of(cast, 12)
    for index in range(9):
        told(story, index, (1_000 + 256 * index) * MIB)

    assert kinds(story) == {("memory_growth", "open")}
    found = Finding.objects.get(run=story.run, kind="memory_growth")
    assert found.workers == ["coordinator"]
    assert found.observed.startswith("On coordinator the memory of the process grows by 1.0 model copies (256 MiB) a")
    assert found.evidence["held"][0]["limit_in_rounds"] == pytest.approx((8_192 - 4_000) / 256)
    opened = found.opened_at
    told(story, 9, (1_000 + 256 * 9) * MIB)
    found.refresh_from_db()
    assert found.opened_at == opened

    for index in (10, 11):
        told(story, index, 1_000 * MIB)
    assert kinds(story) == {("memory_growth", "resolved")}


def test_what_collections_free_is_a_reference_cycle_with_the_path_that_holds_it(cast: Cast) -> None:
    story = story_of(cast, 6)
    recorder = story.recorders["coordinator"]
    for index in range(5):
        if index == 4:
            at = story.at(story.scenario.rounds[index][0] + 20)
            recorder.event("gc", at, seconds=0.1, memory_before_bytes=3_000 * MIB, memory_after_bytes=1_000 * MIB)
            said: dict[str, Any] = {"label": "deltas", "rounds": 2, "type": "numpy.ndarray", "held_by": "a cycle"}
            recorder.event("retained", at, **said, path="dict['aggregation']['deltas'][0]")
        told(story, index, 1_000 * MIB)

    found = Finding.objects.get(run=story.run, kind="reference_cycle")
    assert (found.state, found.workers, found.severity) == ("open", ["coordinator"], "warning")
    assert found.observed == "A full collection of coordinator freed 7.8 model copies (2.0 GiB) at most."
    (kept,) = found.evidence["held"][0]["kept"]
    assert (kept["label"], kept["path"]) == ("deltas", "dict['aggregation']['deltas'][0]")
    assert found.hypothesis.endswith("is still held by a cycle: dict['aggregation']['deltas'][0].")


def test_what_a_collection_frees_inside_the_process_is_a_reference_cycle_too(cast: Cast) -> None:
    story = story_of(cast, 2)
    memory = dict.fromkeys(("memory_before_bytes", "memory_after_bytes"), 3_000 * MIB)
    used: dict[str, Any] = {"allocated_before_bytes": 2_900 * MIB, "allocated_after_bytes": 900 * MIB}
    for index in range(2):
        recorder = story.recorders["coordinator"]
        recorder.event("gc", story.at(story.scenario.rounds[index][0] + 20), seconds=0.1, **memory, **used)
        told(story, index, 3_000 * MIB)

    assert kinds(story) == {("reference_cycle", "open")}


def test_memory_that_is_given_back_each_round_and_collections_that_free_nothing_are_no_finding(cast: Cast) -> None:
    story = story_of(cast, 8)
    for index in range(8):
        at = story.at(story.scenario.rounds[index][0] + 20)
        same: dict[str, Any] = {"memory_before_bytes": 2_000 * MIB, "memory_after_bytes": 1_999 * MIB}
        story.recorders["coordinator"].event("gc", at, seconds=0.1, **same)
        told(story, index, 1_000 * MIB)

    assert kinds(story) == set()


def ended(story: Story, left: float) -> None:
    """The run is over, and its coordinator holds so much for the minute after."""
    end_s = story.scenario.rounds[-1][1]
    story.finish()
    recorder = story.recorders["coordinator"]
    for step in range(1, 33):
        recorder.sample("process_memory_bytes", left, story.at(end_s + 2 * step))
    store(story.team, [recorder.batch(alive=False)])


@pytest.mark.parametrize(("left", "found"), [(1_250, set()), (1_270, {("memory_retained", "resolved")})])
def test_more_than_a_model_above_the_first_rounds_floor_is_retained(
    cast: Cast, left: float, found: set[tuple[str, str]]
) -> None:
    story = story_of(cast, 3)
    for index, floor in enumerate((1_000, 1_100, left)):
        told(story, index, floor * MIB)
    ended(story, left * MIB)
    assert kinds(story) == set()

    judge_memory(str(story.run.pk))

    assert kinds(story) == found


def test_a_collection_that_is_told_after_the_last_round_was_judged_counts_all_the_same(cast: Cast) -> None:
    story = story_of(cast, 1)
    told(story, 0, 1_000 * MIB)
    recorder = story.recorders["coordinator"]
    freed: dict[str, Any] = {"memory_before_bytes": 3_000 * MIB, "memory_after_bytes": 1_000 * MIB}
    recorder.event("gc", story.at(story.scenario.rounds[0][1] - 1), seconds=0.1, **freed)
    ended(story, 1_000 * MIB)
    assert kinds(story) == set()

    judge_memory(str(story.run.pk))

    assert kinds(story) == {("reference_cycle", "resolved")}


def test_the_watcher_asks_again_only_when_more_was_heard_and_not_too_often(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def taken(_name: str, run_id: str) -> bool:
        asked.append(run_id)
        return True

    monkeypatch.setattr("ingest.watch.start", taken)
    now = [100.0]
    afterwards = Afterwards(clock=lambda: now[0])
    story = story_of(cast, 1)
    told(story, 0, 1_000 * MIB)
    afterwards.scan()
    assert asked == []

    ended(story, 2_000 * MIB)
    seen = []
    for seconds, more in ((0, False), (5, True), (15, False), (30, False), (45, True)):
        now[0] = 100.0 + seconds
        if more:
            recorder = story.recorders["coordinator"]
            store(story.team, [recorder.sample("process_memory_bytes", 1.0, recorder.last_ns + 1).batch(alive=False)])
        afterwards.scan()
        seen.append(len(asked))
    assert seen == [1, 1, 2, 2, 3]
    assert set(asked) == {str(Run.objects.get(pk=story.run.pk).pk)}
