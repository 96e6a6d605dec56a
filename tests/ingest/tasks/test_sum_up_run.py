"""A run's figures follow its verdicts, and a run that is worse than its project's own is told of once."""

import datetime as dt
import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingest.models import Finding, Outbox, Round, Run, RunFigures, Stream
from ingest.queries import run_figures as queries
from ingest.store import deletion, findings, run_figures, thresholds
from ingest.tasks import judge_round, sum_up_run
from tests.cast import Cast
from tests.dashboard.runs_of import add_figures, add_round, add_workers, kinds, make_run
from tests.ingest import scenarios
from tests.ingest.scenarios import Scenario
from tests.ingest.storing import Story, store

pytestmark = pytest.mark.django_db
GIB = 1 << 30


def exchange(rounds: int = 8, *, train: float = 30.0) -> Scenario:
    return scenarios.exchange(
        "exchange", scenarios.crew(4, per_machine=1), rounds=rounds, train=train,
        encode=lambda worker, _index: 4.0 if worker == "rank-3" else 2.0,
    )  # fmt: skip


def story_of(cast: Cast, key: str, *, train: float = 30.0, **begin: Any) -> Story:
    """A run with all its rounds judged, and due to be summed up."""
    story = Story(cast.team, exchange(train=train), key=key)
    for recorder in story.recorders.values():
        recorder.begin(conditions={"devices": "1 x NVIDIA A40"}, **begin)
    for index in range(len(story.scenario.rounds)):
        story.tell(index)
        judge_round(str(story.run.pk), index, 0)
    return story


def come_due(run: Run) -> None:
    RunFigures.objects.filter(run=run).update(due_at=timezone.now() - dt.timedelta(seconds=1))


def summed(run: Run) -> RunFigures:
    come_due(run)
    sum_up_run(str(run.pk))
    return RunFigures.objects.get(run=run)


def before(cast: Cast, like: RunFigures, walls: tuple[float, ...] = (48, 49, 50, 49.5, 48.5), **more: Any) -> None:
    """Runs of the same project and conditions, an hour apart, that took so long for a round."""
    run = like.run
    for at, wall_s in enumerate(walls):
        earlier = make_run(
            cast.team,
            f"before-{at}",
            project=run.project,
            key=f"before-{at}",
            **{"ended_at": run.started_at, "model_bytes": run.model_bytes} | more,
        )
        Run.objects.filter(pk=earlier.pk).update(started_at=run.started_at - dt.timedelta(hours=10 - at))
        add_figures(
            earlier, wall_s, trainers=like.trainers, devices=like.devices, device=like.device,
            waiting_share=0.4, memory_peak_bytes=10.0 * GIB,
        )  # fmt: skip


def test_a_run_is_summed_up_from_its_judged_rounds_without_the_first(cast: Cast) -> None:
    row = summed(story_of(cast, "run-1").run)

    assert (row.rounds, row.trainers, row.machines, row.devices, row.device) == (7, 4, 4, 4, "NVIDIA A40")
    assert row.group == "4 × NVIDIA A40"
    assert row.round_s == pytest.approx(30 + 4 + 1 + 3 + 13)
    assert row.waiting_share == pytest.approx(1 - 30 / 51)
    assert (row.encode_s_p5, row.encode_s, row.encode_s_p95) == pytest.approx((2.0, 2.0, 4.0))
    assert row.comm_share == pytest.approx(1 / 51)
    assert row.due_at is None
    assert row.summed_at is not None


def test_the_most_that_one_worker_held_is_remembered_with_its_name(cast: Cast) -> None:
    story = story_of(cast, "run-1", model_bytes=GIB)
    recorder = story.recorders["coordinator"]
    for at, held in ((60, 14.8), (110, 3.0)):
        recorder.sample("process_memory_bytes", held * GIB, story.at(at))
        recorder.sample("cgroup_memory_bytes", 99.0 * GIB, story.at(at))
        recorder.sample("device_memory_allocated_bytes", held * GIB / 2, story.at(at), device="GPU-1")
    story.recorders["rank-0"].sample("process_memory_bytes", 2.0 * GIB, story.at(60))
    store(cast.team, [recorder.batch(), story.recorders["rank-0"].batch()])

    row = summed(story.run)
    assert (row.memory_peak_worker, row.memory_peak_bytes, row.device_peak_bytes) == (
        "coordinator", 14.8 * GIB, 7.4 * GIB,
    )  # fmt: skip

    # Readings go before figures do.
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_sample")
    again = summed(story.run)
    assert (again.memory_peak_worker, again.memory_peak_bytes) == ("coordinator", 14.8 * GIB)


def test_the_newest_readings_are_enough_for_a_new_peak(cast: Cast) -> None:
    story = story_of(cast, "run-1")
    recorder = story.recorders["coordinator"]
    for at, held in ((60, 3.0), (400, 5.0)):
        store(cast.team, [recorder.sample("process_memory_bytes", held * GIB, story.at(at)).batch()])
        assert summed(story.run).memory_peak_bytes == held * GIB


def test_of_a_replayed_round_the_newest_generation_counts_and_open_ones_do_not(cast: Cast) -> None:
    run = make_run(cast.team)
    for index in range(4):
        add_round(run, index, 10.0 if index else 99.0)
    add_round(run, 1, 20.0, generation=1)
    add_round(run, 2, 20.0, generation=1)
    add_round(run, 4, None)
    run_figures.ask(run.pk)
    row = summed(run)
    assert (row.rounds, row.round_s) == (3, 20.0)


def test_the_first_steps_of_a_data_parallel_job_warm_up(cast: Cast) -> None:
    run = make_run(cast.team)
    for index in range(45):
        add_round(run, index, 5.0 if index < 20 else 0.2)
    run_figures.ask(run.pk)
    assert (summed(run).rounds, summed(run).round_s) == (25, pytest.approx(0.2))
    only = make_run(cast.team)
    for index in range(3):
        add_round(only, index, 0.5)
    run_figures.ask(only.pk)
    assert summed(only).rounds == 3


def test_without_an_analysis_transfers_tell_the_exchange_between_machines_and_of_one_machine_nothing(
    cast: Cast,
) -> None:
    for machines, share in ((["m-1", "m-2"], 0.25), (["m-1", "m-1"], None)):
        run = make_run(cast.team)
        add_workers(run, machines)
        for index in range(3):
            add_round(run, index, 4.0, kind_seconds=kinds(compute=2.0, transfer=1.0))
        run_figures.ask(run.pk)
        assert summed(run).comm_share == share


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ([("m-1", "2 x A40"), ("m-1", "2 x A40"), ("m-2", "2 x A40")], ("A40", 4)),
        ([("m-1", "1 x A40, 3 x T4")], ("T4", 3)),
        ([("m-1", ""), ("m-2", "nonsense")], ("", 0)),
        ([("m-1", "1 x B"), ("m-2", "1 x A")], ("A", 1)),
    ],
)
def test_devices_are_counted_once_a_machine(told: list[tuple[str, str]], found: tuple[str, int]) -> None:
    assert queries.counted(told) == found


def test_where_nothing_is_new_it_costs_one_statement_and_a_second_claim_gets_nothing(cast: Cast) -> None:
    run = make_run(cast.team)
    add_round(run, 0, 10.0)
    run_figures.ask(run.pk)
    with CaptureQueriesContext(connection) as asked:
        sum_up_run(str(run.pk))
    assert len(asked) == 1
    assert run_figures.due(10) == []
    come_due(run)
    assert run_figures.due(10) == [run.pk]
    assert run_figures.claim(run.pk) is not None
    assert run_figures.claim(run.pk) is None
    assert run_figures.claim(UUID(int=0)) is None


def test_what_is_judged_while_a_run_is_summed_up_has_it_summed_up_again(cast: Cast) -> None:
    run = make_run(cast.team)
    run_figures.ask(run.pk)
    come_due(run)
    claimed = run_figures.claim(run.pk)
    assert claimed is not None
    run_figures.ask(run.pk)
    run_figures.done(run.pk, claimed)
    due = RunFigures.objects.get(run=run).due_at
    assert due is not None
    assert due < claimed


def test_who_dies_while_summing_up_is_followed_by_another(cast: Cast) -> None:
    run = make_run(cast.team)
    run_figures.ask(run.pk)
    come_due(run)
    run_figures.claim(run.pk)
    RunFigures.objects.filter(run=run).update(due_at=F("due_at") - dt.timedelta(minutes=5))
    assert run_figures.due(10) == [run.pk]


def test_a_run_slower_than_its_projects_own_is_told_of_with_what_was_changed(cast: Cast) -> None:
    story = story_of(cast, "slower", train=60.0, config={"batch": 64, "model": {"width": 8}})
    figures = summed(story.run)
    before(cast, figures, config={"batch": 32, "model": {"width": 8}})
    summed(story.run)

    row = Finding.objects.get(run=story.run, kind="regression")
    assert (row.state, row.severity, row.phase) == ("open", "warning", "")
    assert row.observed.startswith("The median round takes 81.0 s, 1.65 times the 49.0 s of the last 5 comparable runs")
    assert "batch: 32 → 64." in row.hypothesis
    assert "width" not in row.hypothesis
    assert row.evidence["conditions"] == "4 × NVIDIA A40"
    assert Outbox.objects.filter(finding=row, happened="opened").count() == 1

    version = row.version
    summed(story.run)
    assert Finding.objects.get(pk=row.pk).version == version


def test_one_that_is_as_quick_as_usual_is_over_and_of_another_team_project_or_device_nothing_counts(cast: Cast) -> None:
    story = story_of(cast, "slower", train=60.0)
    figures = summed(story.run)
    before(cast, figures)
    summed(story.run)
    assert Finding.objects.filter(kind="regression", state="open").exists()

    for change in ({"device": "T4"}, {"trainers": 5}, {"devices": 3}):
        kept = {name: getattr(figures, name) for name in change}
        RunFigures.objects.exclude(run=story.run).update(**change)
        summed(story.run)
        assert not Finding.objects.filter(kind="regression", state="open").exists(), change
        RunFigures.objects.exclude(run=story.run).update(**kept)
        summed(story.run)
        assert Finding.objects.filter(kind="regression", state="open").exists()
    for change in ({"team": cast.other_team}, {"project": "another"}, {"ended_at": None}, {"model_bytes": 7}):
        others = Run.objects.exclude(pk=story.run.pk)
        Run.objects.filter(pk=story.run.pk).update(model_bytes=8)
        others.update(team=cast.team, project=story.run.project, ended_at=story.run.started_at, model_bytes=8)
        summed(story.run)
        assert Finding.objects.filter(kind="regression", state="open").exists()
        others.update(**change)
        summed(story.run)
        assert not Finding.objects.filter(kind="regression", state="open").exists(), change


def test_runs_that_came_later_are_no_baseline(cast: Cast) -> None:
    story = story_of(cast, "slower", train=60.0)
    before(cast, summed(story.run))
    Run.objects.exclude(pk=story.run.pk).update(started_at=story.run.started_at + dt.timedelta(hours=1))
    summed(story.run)
    assert not Finding.objects.filter(kind="regression").exists()


@pytest.mark.parametrize(("ago", "told"), [(dt.timedelta(minutes=1), 1), (dt.timedelta(hours=2), 0)])
def test_of_a_run_that_ended_long_ago_a_regression_is_shown_and_nobody_is_told(
    cast: Cast, ago: dt.timedelta, told: int
) -> None:
    story = story_of(cast, "slower", train=60.0)
    before(cast, summed(story.run))
    story.finish()
    Run.objects.filter(pk=story.run.pk).update(state="finished", ended_at=timezone.now() - ago)
    summed(story.run)
    row = Finding.objects.get(run=story.run, kind="regression")
    assert row.state == "resolved"
    assert Outbox.objects.filter(finding=row).count() == told


def test_thresholds_of_the_team_decide_and_are_told(cast: Cast) -> None:
    story = story_of(cast, "slower", train=60.0)
    before(cast, summed(story.run))
    thresholds.change(cast.team.pk, None, {"regression.ratio": 1.5}, cast.owner.pk)
    summed(story.run)
    (said,) = Finding.objects.get(kind="regression").evidence["thresholds"]
    assert said["key"] == "regression.ratio"
    thresholds.change(cast.team.pk, None, {"regression.ratio": 3.0}, cast.owner.pk)
    summed(story.run)
    assert not Finding.objects.filter(kind="regression", state="open").exists()


def test_settings_that_are_long_hostile_or_many_are_cut(cast: Cast) -> None:
    story = story_of(cast, "slower", train=60.0, config={f"k{at:03}": "x" * 5000 for at in range(300)})
    before(cast, summed(story.run), config={"k000": {"<b>": [1] * 500}})
    summed(story.run)
    row = Finding.objects.get(kind="regression")
    assert len(row.hypothesis) < 1000
    assert len(json.dumps(row.evidence)) < 12_000


def test_a_deleted_run_takes_its_figures_along(cast: Cast) -> None:
    story = story_of(cast, "run-1")
    summed(story.run)
    assert deletion.begin(story.run.pk)
    assert not RunFigures.objects.exists()
    assert Stream.objects.filter(deleted=True).exists()


def test_a_round_that_is_judged_has_its_run_summed_up_soon_and_once(cast: Cast) -> None:
    story = Story(cast.team, exchange(2))
    story.tell()
    for index in range(2):
        judge_round(str(story.run.pk), index, 0)
    row = RunFigures.objects.get(run=story.run)
    assert row.due_at is not None
    assert timezone.now() < row.due_at < timezone.now() + dt.timedelta(seconds=20)
    first = row.due_at
    Round.objects.update(data_version=F("data_version") + 1)
    judge_round(str(story.run.pk), 0, 0)
    assert RunFigures.objects.get(run=story.run).due_at == first
    assert findings.resolve_of_ended_runs() == {}
