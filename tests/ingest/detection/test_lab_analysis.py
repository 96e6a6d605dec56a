"""What is concluded of rounds of the lab's scenarios, beside the published figures that those were built from."""

import numpy as np
import pytest

from ingest.detection import imbalance, work_on_path
from ingest.detection.named_intervals import Event
from ingest.detection.round_analysis import Given, RoundAnalysis, analyse
from tests.ingest.detection.histories import history, nanoseconds, spans
from tests.ingest.detection.lab_runs import lab, told
from tests.ingest.detection.rounds import members


def analysed(name: str, index: int) -> RoundAnalysis:
    played = lab(name)
    scenario = told(played)
    lanes = {who.name: lane for lane, who in enumerate(scenario.workers)}
    begin, end = scenario.rounds[index]
    happened = played.acts()[index].events
    found = analyse(
        Given(
            index=index, begin_ns=nanoseconds(begin), end_ns=nanoseconds(end), workers=members(scenario.workers),
            trainers=np.array([lanes[who.name] for who in scenario.workers if who.role == "trainer"]),
            spans=spans(scenario.phases, lanes),
            events=tuple(Event(one.name, lanes[one.worker], index, nanoseconds(one.at_s)) for one in happened),
        )
    )  # fmt: skip
    assert sum(one.length_ns for one in found.path) == found.end_ns - found.begin_ns
    assert sum(one.total_ns for one in found.waiting.shares) == found.waiting.total_ns
    return found


def phases(found: RoundAnalysis) -> list[str]:
    return ["gap" if one.gap else one.phase for one in found.path]


def test_run_six_waited_for_one_slow_encoder_and_only_both_are_worth_fixing() -> None:
    found = analysed("run-6", 4)

    assert phases(found) == ["train", "encode", "upload", "aggregate", "apply"]
    assert found.path[1].length_ns == 18_000_000_000
    assert found.what_if.joint is not None
    assert found.what_if.joint.items == (("host-07", "encode"), ("host-06", "encode"))
    assert found.what_if.joint.saved_ns == pytest.approx(15.7e9)
    machine = next(fix for fix in found.what_if.fixes if "machine" in fix.scope)
    assert machine.saved_ns == pytest.approx(15.7e9)
    assert machine.waited_ns == pytest.approx(225e9, rel=0.01)
    # All hosts are at one site, which explains nothing.
    assert not [fix for fix in found.what_if.fixes if "site" in fix.scope]


@pytest.mark.parametrize("index", [0, 1])
def test_the_dry_run_exchanges_longer_than_it_trains_and_saves_what_nobody_loads(index: int) -> None:
    found = analysed("dry-run", index)
    measured = {one.interval.name: one for one in found.intervals}
    to_sync = measured["aggregation to sync start"]

    assert 22.6e9 <= to_sync.length_ns <= 23.4e9
    assert 14e9 <= sum(one.length_ns for one in to_sync.parts if one.phase == "save" and not one.gap) <= 15e9
    assert "save" in phases(found)
    assert found.communication.exchange_share == pytest.approx(60 / 108, abs=0.02)
    assert found.communication.band == "healthy"
    took = {one.phase: one.length_ns for one in found.path if not one.gap}
    assert took["apply"] > 10 * took["download"]


def test_work_on_the_path_of_the_dry_run_is_save_apply_and_prepare_and_of_the_follow_up_no_save() -> None:
    dry = work_on_path.judge(history(told(lab("dry-run"))), {"save": False})
    after = work_on_path.judge(history(told(lab("follow-up"))), {})

    assert [verdict.phase for verdict in dry] == ["apply", "prepare", "save"]
    assert "save" not in {verdict.phase for verdict in after}
    assert {verdict.severity for verdict in (*dry, *after)} == {"info"}


def test_the_follow_ups_criterion_would_pass_and_the_dry_runs_would_not() -> None:
    (dry,) = [one for one in analysed("dry-run", 1).intervals if one.interval.name == "aggregation to sync start"]
    (after,) = [one for one in analysed("follow-up", 1).intervals if one.interval.name == "aggregation to sync start"]

    assert after.length_ns < 10e9 < dry.length_ns


def test_who_came_after_the_quorum_waited_for_nobody() -> None:
    found = analysed("quorum", 1)

    assert found.path[-1].phase == "apply"
    assert all(one.phase != "aggregate" or one.lane == 0 for one in found.path)


def test_a_pipeline_hides_its_transfers() -> None:
    found = analysed("pipelined", 1)

    assert found.communication.overlap == pytest.approx(1)
    assert found.communication.band == "overlapped"


def test_mixed_hardware_is_an_imbalance_and_nothing_to_fix_in_a_worker() -> None:
    assert [verdict.phase for verdict in imbalance.judge(history(told(lab("mixed"))))] == ["train"]
    assert analysed("mixed", 1).what_if.recoverable_ns < 1e9
