"""What detection says of the lab's scenarios: the faults that are in them, and nothing else."""

import pytest

from ingest.detection import memory, slow_phase, straggler
from ingest.detection.slow_phase import Level
from tests.ingest.detection.histories import history
from tests.ingest.detection.lab_runs import coordinator_memory, lab, told
from tests.ingest.detection.rounds_going_on import live
from tests.ingest.scenarios import Scenario

ENCODES_S = 30.0


def stragglers(scenario: Scenario) -> dict[int, set[tuple[str, str]]]:
    """Who is named after which round."""
    found: dict[int, set[tuple[str, str]]] = {}
    for index in range(len(scenario.rounds)):
        judged = straggler.judge(history(scenario, upto=index))
        named = {
            (one.phase, who) for one in (*judged.once, *judged.lasting) if one.resolved_ns is None or one in judged.once
            for who in one.workers
        }  # fmt: skip
        if named:
            found[index] = named
    return found


def slow_while_open(scenario: Scenario, every_s: float) -> dict[int, set[tuple[str, str]]]:
    """Who is called slow, stalled or missing, looked at every so many seconds, in which round."""
    found: dict[int, set[tuple[str, str]]] = {}
    for index, (begin, end) in enumerate(scenario.rounds):
        at = begin + every_s
        while at < end:
            watched = slow_phase.judge(live(scenario, at, index=index))
            named = {(one.phase, who) for one in watched.verdicts for who in one.workers}
            if named:
                found.setdefault(index, set()).update(named)
            at += every_s
    return found


def test_of_run_six_exactly_the_two_slow_encoders_of_round_four_are_found() -> None:
    scenario = told(lab("run-6"))

    assert stragglers(scenario) == {4: {("encode", "host-06"), ("encode", "host-07")}}
    (verdict,) = straggler.judge(history(scenario, upto=4)).once
    assert verdict.hypothesis == "Both run on one physical machine (machine-06), which none of the others uses."


def test_of_run_six_they_are_told_more_than_ten_seconds_before_they_end_and_nobody_who_waits() -> None:
    scenario = told(lab("run-6"))
    begin = scenario.rounds[4][0] + ENCODES_S

    assert slow_while_open(scenario, 1.9) == {4: {("encode", "host-06"), ("encode", "host-07")}}
    assert slow_phase.judge(live(scenario, begin + 17.8 - 10.0, index=4)).verdicts != ()
    suspects = [
        tenth / 10 for tenth in range(10, 60)
        if any(
            mark.level >= Level.SUSPECT for mark in slow_phase.judge(live(scenario, begin + tenth / 10, index=4)).marks
        )
    ]  # fmt: skip
    assert 2.9 <= suspects[0] <= 3.4


def test_of_the_dry_run_only_memory_kept_after_its_end_is_found() -> None:
    played = lab("dry-run")
    scenario = told(played)

    assert stragglers(scenario) == {}
    assert slow_while_open(scenario, 2.3) == {}
    (kept,) = memory.judge(coordinator_memory(played)).verdicts
    assert kept.kind == "memory_retained"
    assert "peak >= 34.4 GiB (14.8 model copies)" in kept.observed
    assert memory.judge(coordinator_memory(played, after=False)).verdicts == ()


@pytest.mark.parametrize("name", ["follow-up", "quorum", "mixed", "pipelined"])
def test_of_the_others_nobody_is_named(name: str) -> None:
    scenario = told(lab(name))

    late = {("encode", "host-6"), ("encode", "host-7")} if name == "quorum" else set()
    assert {pair for named in stragglers(scenario).values() for pair in named} <= late


def test_of_the_follow_up_no_memory_is_kept() -> None:
    assert memory.judge(coordinator_memory(lab("follow-up"))).verdicts == ()
