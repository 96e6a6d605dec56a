"""Scenarios of the lab, played to a real server: what is stored is what the scenario says, and judged so."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from dashboard.teams.tokens import issue
from ingest.models import Finding, Phase, PhaseName, Round, Run, Sample, Stream, Worker
from ingest.queries.judging import workers_of
from ingest.tasks import judge_memory, judge_round
from roundwatch.lab.catalogue import scenarios
from roundwatch.lab.jobs import SLOWER_FROM
from roundwatch.lab.playing import Player, Wishes
from roundwatch.lab.shapes import Scenario
from roundwatch.lab.telling import Teller
from tests.cast import Cast, make_cast


@pytest.fixture
def cast(web: str) -> Cast:
    return make_cast()


def played(name: str, url: str, cast: Cast, rounds: int | None = None) -> tuple[Scenario, Run]:
    whole = scenarios()[name]
    scenario = replace(whole, rounds=rounds or whole.rounds)
    teller = Teller(url, issue(cast.team, "lab", ["ingest"]), patience_s=10)
    Player(scenario, teller, Wishes(project="lab", run=name, speed=float("inf"))).play()
    teller.close()
    assert teller.rejected == 0
    return scenario, Run.objects.get(team=cast.team, key=name)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def closed(run: Run) -> list[Round]:
    return list(Round.objects.filter(run=run, closed=True).order_by("index"))


def judged(name: str, url: str, cast: Cast, rounds: int | None = None) -> Run:
    """A scenario that was played, with each of its rounds judged and what was left of its memory."""
    scenario, run = played(name, url, cast, rounds)
    until(lambda: len(closed(run)) == scenario.rounds, "all rounds close")
    for row in closed(run):
        judge_round(str(run.pk), row.index, row.generation)
    judge_memory(str(run.pk))
    run.refresh_from_db()
    return run


def test_run_six_is_stored_exactly_and_its_two_slow_encoders_are_found(web: str, cast: Cast) -> None:
    scenario, run = played("run-6", web, cast)
    until(lambda: len(closed(run)) == scenario.rounds, "all rounds close")

    acts = scenario.acts()
    assert [row.end_ns - row.begin_ns for row in closed(run) if row.end_ns] == [
        pytest.approx((act.next_s - begin) * 1e9, abs=2)
        for act, begin in zip(acts, [0.0, *(act.next_s for act in acts)], strict=False)
    ]
    stored = Phase.objects.filter(run_id=run.pk)
    assert stored.count() == sum(len(act.phases) for act in acts)
    encode = PhaseName.objects.get(run=run, name="encode")
    encoded = stored.filter(name_index=encode.index, round=4)
    assert sorted(row.end_ns - row.begin_ns for row in encoded)[-2:] == [
        pytest.approx(17.8e9, abs=2), pytest.approx(18.0e9, abs=2)
    ]  # fmt: skip
    machines = Counter(Worker.objects.filter(run=run).values_list("host", flat=True))
    assert machines["machine-06"] == 2
    coordinator = Worker.objects.get(run=run, role="coordinator")
    assert (coordinator.site, coordinator.attempt, coordinator.state) == ("datacentre", 1, "finished")

    for row in closed(run):
        judge_round(str(run.pk), row.index, row.generation)
    (finding,) = Finding.objects.filter(run=run, kind="straggler")
    assert (finding.phase, finding.workers, finding.rounds) == ("encode", ["host-06", "host-07"], [4])
    assert "machine-06" in finding.hypothesis
    assert "Their quota is 8 CPUs, but their software sees 64." in finding.hypothesis


def test_the_dry_runs_memory_is_stored_to_the_end_and_after_it(web: str, cast: Cast) -> None:
    scenario, run = played("dry-run", web, cast)

    acts = scenario.acts()
    reads = [read for act in acts for read in act.reads] + list(scenario.after(acts[-1].next_s))
    rows = Sample.objects.filter(stream_id__in=run.streams.values("id")).order_by("time_ns")
    assert [row.value for row in rows] == [read.value for read in reads]
    run.refresh_from_db()
    assert run.state == "finished"
    assert max(row.value for row in rows) == pytest.approx(34.4 * 2**30)


def test_of_the_dry_run_memory_kept_after_its_end_is_found_and_else_only_work_on_its_path(web: str, cast: Cast) -> None:
    run = judged("dry-run", web, cast)

    found = {(row.kind, row.phase) for row in Finding.objects.filter(run=run)}
    assert found - {("work_on_path", phase) for phase in ("aggregate", "prepare", "apply", "save")} == {
        ("memory_retained", "")
    }
    kept = Finding.objects.get(run=run, kind="memory_retained")
    assert (kept.workers, kept.severity, kept.state, kept.rounds) == (["coordinator"], "warning", "resolved", [1])
    assert kept.observed.startswith("On coordinator the memory of the process keeps 5.4 model copies (12.5 GiB) more")
    assert "peak >= 34.4 GiB (14.8 model copies)" in kept.observed
    assert run.ended_at is not None
    assert (kept.opened_at - run.ended_at).total_seconds() == pytest.approx(60)
    assert kept.resolved_at == kept.opened_at
    # Asked for again, nothing changes.
    judge_memory(str(run.pk))
    assert Finding.objects.get(pk=kept.pk).version == kept.version


def test_of_the_follow_up_nothing_is_said_of_memory(web: str, cast: Cast) -> None:
    run = judged("follow-up", web, cast)

    assert {row.kind for row in Finding.objects.filter(run=run)} <= {"work_on_path"}
    assert not Finding.objects.filter(run=run, phase="save").exists()


def test_the_mixed_runs_hosts_are_known_by_the_model_of_their_devices(web: str, cast: Cast) -> None:
    from django.db import connection

    _, run = played("mixed", web, cast)

    with connection.cursor() as cursor:
        devices = {worker.name: worker.device for worker in workers_of(cursor, run.pk)}
    assert devices == {
        "coordinator": "",
        **{f"host-{at}": "NVIDIA A40" for at in range(4)},
        **{f"host-{at}": "NVIDIA H100 80GB HBM3" for at in range(4, 8)},
    }


def told(run: Run) -> set[tuple[str, str, tuple[str, ...]]]:
    """Each finding as kind, phase and who, without the work that every round waits for."""
    found = Finding.objects.filter(run=run).exclude(kind="work_on_path")
    return {(row.kind, row.phase, tuple(row.workers)) for row in found}


def test_the_straggler_is_named_by_what_it_computes_slowly(web: str, cast: Cast) -> None:
    run = judged("straggler", web, cast)

    assert told(run) == {("straggler", phase, ("rank-13",)) for phase in ("forward", "backward")}
    assert min(Finding.objects.get(run=run, phase="backward").rounds) >= SLOWER_FROM


def test_of_the_four_gpus_both_failures_are_found(web: str, cast: Cast) -> None:
    run = judged("four-gpus", web, cast, rounds=120)

    assert told(run) == {("straggler", "data", ("rank-2",)), ("training_unhealthy", "", ("rank-0",))}


def test_of_the_mixed_run_the_difference_is_found_and_no_straggler(web: str, cast: Cast) -> None:
    run = judged("mixed", web, cast)

    assert told(run) == {("imbalance", "train", tuple(f"host-{at}" for at in range(4)))}


def test_the_late_hosts_of_a_quorum_are_named_and_hold_up_nobody(web: str, cast: Cast) -> None:
    run = judged("quorum", web, cast)

    assert told(run) == {("straggler", "encode", ("host-6", "host-7"))}
    waited = {row.phase: set(row.workers) for row in Finding.objects.filter(run=run, kind="work_on_path")}
    assert not {phase for phase in ("train", "encode", "upload") if waited.get(phase, set()) & {"host-6", "host-7"}}


def test_of_the_pipelined_run_nothing_is_said_but_what_each_round_waits_for(web: str, cast: Cast) -> None:
    assert told(judged("pipelined", web, cast)) == set()


def test_played_fast_its_phases_are_open_on_the_server_until_they_end(web: str, cast: Cast) -> None:
    scenario = scenarios()["pipelined"]
    teller = Teller(web, issue(cast.team, "lab", ["ingest"]), patience_s=10)
    player = Player(scenario, teller, Wishes(project="lab", run="live", speed=30.0))
    playing = threading.Thread(target=player.play)
    playing.start()
    seen: set[str] = set()
    try:
        while playing.is_alive():
            for opens in Stream.objects.filter(run__key="live").values_list("opens", flat=True):
                seen |= {one["name"] for one in opens}
            time.sleep(0.05)
    finally:
        playing.join()
        teller.close()

    run = Run.objects.get(team=cast.team, key="live")
    assert "train" in seen
    assert teller.rejected == 0
    assert Phase.objects.filter(run_id=run.pk).count() == sum(len(act.phases) for act in scenario.acts())
    assert not any(opens for opens in Stream.objects.filter(run=run).values_list("opens", flat=True))
