"""How runs stand: what the list sorts and filters by follows from what was stored, soon and whoever stored it."""

import pytest
from django.db import connection

from ingest.models import Conditions, Finding, Run, Setting, Standing, StandingDue, Stream
from ingest.store import analyses, deletion, standings
from tests.cast import Cast
from tests.dashboard.runs_of import add_finding, add_round, add_workers, kinds, make_run, settle
from tests.ingest import scenarios
from tests.ingest.storing import Story

pytestmark = pytest.mark.django_db


def test_a_run_is_due_from_its_first_word_on_and_no_more_once_it_is_summed_up(cast: Cast) -> None:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()
    assert StandingDue.objects.filter(run_id=story.run.pk, crew=True).exists()
    assert standings.bring_up() == 1
    assert standings.bring_up() == 0
    run = Run.objects.get(pk=story.run.pk)
    assert run.trainers == 2
    assert run.crew_words.split()[-2:] == ["rank-0", "rank-1"]


def test_figures_are_of_the_newest_closed_rounds(cast: Cast) -> None:
    run = make_run(cast.team, "alpha")
    for index in range(45):
        wall = 1.0 if index < 5 else 10.0 + index
        add_round(run, index, wall, gpu_waiting_share=0.5, items=100.0, kind_seconds=kinds(compute=5.0, encode=2.0))
    add_round(run, 45, None)
    settle()
    row = Standing.objects.get(run=run)
    # Of the 40 newest the last is open: 39 walls from 16 to 54 s.
    assert (row.rounds, row.round_s, row.waiting_share) == (45, 35.0, 0.5)
    assert row.items_per_s == pytest.approx(39 * 100 / sum(10.0 + index for index in range(6, 45)))
    assert row.longest_wait == "encode"
    assert row.longest_wait_share == pytest.approx(39 * 2 / sum(10.0 + index for index in range(6, 45)))


def test_what_is_not_known_is_null_and_no_zero(cast: Cast) -> None:
    run = make_run(cast.team, "alpha")
    settle()
    row = Standing.objects.get(run=run)
    unknown = (row.rounds, row.round_s, row.waiting_share, row.items_per_s, row.gpu_hours, row.longest_wait_share)
    assert unknown == (None,) * 6
    assert (row.longest_wait, row.open_findings) == ("", 0)


def test_the_longest_wait_is_the_phase_that_takes_most_of_the_critical_paths(cast: Cast) -> None:
    run = make_run(cast.team, "alpha")
    row = add_round(run, 0, 10.0, kind_seconds=kinds(compute=4.0, transfer=6.0))
    path = [
        {"phase": "train", "kind": "compute", "begin_ns": 0, "end_ns": 6, "gap": False},
        {"phase": "upload", "kind": "transfer", "begin_ns": 6, "end_ns": 7, "gap": False},
        {"phase": "save", "kind": "persist", "begin_ns": 7, "end_ns": 9, "gap": False},
        {"phase": "upload", "kind": "other", "begin_ns": 9, "end_ns": 20, "gap": True},
    ]
    analyses.save(row.pk, 0, {"begin_ns": 0, "end_ns": 20, "path": path})
    settle()
    found = Standing.objects.get(run=run)
    assert (found.longest_wait, found.longest_wait_share) == ("save", 0.1)


def test_devices_count_by_trainers_and_hours_by_devices(cast: Cast) -> None:
    run = make_run(cast.team, "alpha")
    run.ended_at = run.started_at.replace(hour=14)
    run.save()
    for index, worker in enumerate(add_workers(run, ["m-1", "m-1", "m-2"])):
        stream = Stream.objects.create(
            team=cast.team, uid=f"{index:032}", worker=worker, run=run, index=index, began_at=run.started_at,
            heard_at=run.started_at,
        )  # fmt: skip
        devices = "8 x NVIDIA A40" if worker.machine == "m-1" else "1 x Tesla T4, 2 x <b>odd</b>"
        Conditions.objects.create(stream=stream, facts={"devices": devices, "user": "mika" if index else "vera"})
    settle()
    run.refresh_from_db()
    assert run.devices == ["NVIDIA A40", "<b>odd</b>", "Tesla T4"]
    assert (run.trainers, run.person) == (3, "mika")
    assert run.machines == ["node0", "node1", "node2", "m-1", "m-2"]
    assert Standing.objects.get(run=run).gpu_hours == pytest.approx(3 * 2)


def test_findings_are_counted_while_open_and_their_kinds_stay(cast: Cast) -> None:
    run = make_run(cast.team, "alpha")
    add_finding(run, [0])
    add_finding(run, [1], state="resolved")
    Finding.objects.filter(state="resolved").update(kind="imbalance")
    settle()
    run.refresh_from_db()
    assert (Standing.objects.get(run=run).open_findings, run.finding_kinds) == (1, ["imbalance", "straggler"])
    Finding.objects.update(state="resolved", severity="info")
    settle()
    run.refresh_from_db()
    assert (Standing.objects.get(run=run).open_findings, run.finding_kinds) == (0, [])


def test_settings_are_those_of_the_newest_configuration(cast: Cast) -> None:
    run = make_run(cast.team, "alpha", config={"lr": 1e-3, "optimizer": {"name": "adamw"}})
    assert set(Setting.objects.values_list("path", "number", "text")) == {
        ("lr", 1e-3, "0.001"), ("optimizer.name", None, "adamw"),
    }  # fmt: skip
    Run.objects.filter(pk=run.pk).update(config={"lr": 2})
    assert list(Setting.objects.values_list("path", "number")) == [("lr", 2.0)]


def test_a_configuration_of_thousands_of_values_keeps_the_first_five_hundred(cast: Cast) -> None:
    make_run(cast.team, "alpha", config={f"s{number:04}": number for number in range(3_000)})
    assert Setting.objects.count() == 500


def test_a_run_that_is_deleted_meanwhile_is_passed_over_and_leaves_nothing(cast: Cast) -> None:
    run = make_run(cast.team, "alpha", config={"lr": 1})
    settle()
    standings.note([run.pk], crew=True)
    assert deletion.begin(run.pk)
    standings.bring_up()
    assert not Run.objects.exists()
    assert not Standing.objects.exists()
    assert not Setting.objects.exists()
    assert not StandingDue.objects.exists()


def test_words_of_a_run_are_bounded_however_much_it_is_called(cast: Cast) -> None:
    make_run(cast.team, "a1" * 64, key="k", tags=["b2" * 64] * 100, notes="c-" * 10_000)
    with connection.cursor() as cursor:
        cursor.execute("SELECT length(search), pg_column_size(search) FROM ingest_run")
        words, size = cursor.fetchone()
    assert words <= 4_000
    assert size < 300_000
