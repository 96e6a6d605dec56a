"""Who is named a straggler, who is not, and what is said of it."""

import math
from dataclasses import replace

import pytest

from ingest.detection.durations import cohorts
from ingest.detection.facts import Baseline
from ingest.detection.straggler import DEFAULT, context, judge
from ingest.detection.verdicts import Judgement
from tests.ingest import scenarios
from tests.ingest.detection.histories import history
from tests.ingest.scenarios import Scenario


def named(judgement: Judgement) -> set[tuple[str, str]]:
    every = [*judgement.once, *(verdict for verdict in judgement.lasting if verdict.resolved_ns is None)]
    return {(verdict.phase, worker) for verdict in every for worker in verdict.workers}


def rounds_in_which(scenario: Scenario, phase: str) -> list[int]:
    """Rounds after which somebody is named for `phase`."""
    judged = [judge(history(scenario, upto=index)) for index in range(len(scenario.rounds))]
    return [index for index, one in enumerate(judged) if any(phase == named_phase for named_phase, _ in named(one))]


@pytest.mark.parametrize("rounds", [2, 4, 9], ids=["first judged round", "few rounds", "noise known"])
def test_exactly_the_two_slow_encoders_are_named_and_nobody_who_waits_for_them(rounds: int) -> None:
    scenario = scenarios.two_slow_encoders(rounds)

    judgement = judge(history(scenario))

    assert named(judgement) == set(scenario.slow)
    (verdict,) = judgement.once
    assert verdict.rounds == (rounds - 1,)
    assert verdict.resolved_ns == verdict.opened_ns
    assert judgement.lasting == ()


def test_the_slow_encoders_are_told_with_their_seconds_and_the_machine_they_share() -> None:
    (verdict,) = judge(history(scenarios.two_slow_encoders())).once

    assert verdict.observed == (
        "encode took 17.8 s on rank-6 and 18.0 s on rank-7; the other 14 took 1.5 s to 2.3 s (median 1.9 s)."
    )
    assert verdict.hypothesis == "Both run on one physical machine (machine-3), which none of the others uses."
    slow = verdict.evidence["cohorts"][0]["slow"]
    assert [(one["worker"], one["against"]) for one in slow] == [("rank-6", "peers"), ("rank-7", "peers")]
    assert slow[0]["seconds"] == pytest.approx(17.8)
    assert 9 < slow[0]["ratio"] < 10


def test_its_bars_are_marked_by_attempt_start_lane_and_round() -> None:
    scenario = scenarios.two_slow_encoders()
    (verdict,) = judge(history(scenario)).once

    marked = [scenario.phases[start] for _, start, _, _ in verdict.marks]
    assert {(did.worker, did.name, did.round) for did in marked} == {("rank-6", "encode", 1), ("rank-7", "encode", 1)}
    assert all(
        scenario.workers[lane].name == did.worker for (_, _, lane, _), did in zip(verdict.marks, marked, strict=True)
    )


def test_no_cause_is_offered_where_a_healthy_peer_shares_the_machine() -> None:
    scenario = scenarios.two_slow_encoders()
    shared = replace(
        scenario,
        workers=tuple(replace(who, machine="machine-3") if who.name == "rank-8" else who for who in scenario.workers),
    )

    (verdict,) = judge(history(shared)).once

    assert verdict.hypothesis == ""
    assert verdict.evidence["machine"] is None


def test_no_cause_is_offered_for_one_slow_worker() -> None:
    (verdict,) = judge(history(scenarios.pair(6.0, 20.0, slow=["rank-1"]))).once

    assert verdict.workers == ("rank-1",)
    assert verdict.hypothesis == ""


def test_a_pair_of_which_one_is_a_quarter_slower_has_no_straggler() -> None:
    assert named(judge(history(scenarios.pair(17.8, 22.3)))) == set()


def test_of_a_pair_the_one_that_is_three_times_slower_is_named() -> None:
    scenario = scenarios.pair(6.0, 18.1, slow=["rank-1"])

    assert named(judge(history(scenario))) == set(scenario.slow)


def test_of_a_pair_less_than_three_times_is_not_named_before_the_noise_is_known() -> None:
    judgement = judge(history(scenarios.pair(6.0, 17.0)))

    assert named(judgement) == set()
    (sight,) = [sight for sight in judgement.sights if sight.phase == "prepare"]
    assert sight.smallest_ratio == pytest.approx(3.0)
    assert sight.abstained == "noise not known yet: less than 3.0 x is not named"


def test_of_a_pair_twice_is_named_once_five_quiet_rounds_are_known() -> None:
    scenario = scenarios.pair(6.0, 12.0, rounds=8, slow=["rank-1"])

    assert named(judge(history(scenario))) == set(scenario.slow)


def test_two_slow_of_four_are_both_named() -> None:
    scenario = scenarios.two_of_four()

    assert named(judge(history(scenario))) == set(scenario.slow)


def test_a_worker_that_skipped_its_work_makes_nobody_else_slow() -> None:
    assert named(judge(history(scenarios.skipped_work()))) == set()


def test_of_a_pair_one_that_skips_what_it_usually_does_makes_the_other_no_straggler() -> None:
    scenario = scenarios.pair(20.0, 20.0, rounds=8)
    skipped = replace(
        scenario,
        phases=tuple(
            replace(did, end_s=did.begin_s + 0.5) if did.name == "prepare" and did.round == 7 and did.worker == "rank-0"
            else did
            for did in scenario.phases
        ),
    )  # fmt: skip

    assert named(judge(history(skipped))) == set()


def test_warm_up_is_not_judged() -> None:
    scenario = scenarios.two_slow_encoders(rounds=1)

    judgement = judge(history(scenario))

    assert named(judgement) == set()
    assert judgement.sights == ()


def test_what_comes_back_is_one_incident_that_opens_with_the_second_time_and_lasts() -> None:
    scenario = scenarios.always_slower(1.4)

    assert rounds_in_which(scenario, "train") == [7, 8, 9, 10, 11]
    judged = [judge(history(scenario, upto=index)) for index in range(7, 12)]
    assert {verdict.fingerprint for one in judged for verdict in one.lasting} == {"straggler:train"}
    assert {verdict.opened_ns for one in judged for verdict in one.lasting} == {judged[0].lasting[0].opened_ns}
    assert judged[-1].lasting[0].rounds == (6, 7, 8, 9, 10, 11)
    assert judged[-1].lasting[0].workers == ("rank-3",)
    assert all(one.once == () for one in judged)


def test_a_lasting_one_that_costs_a_tenth_of_the_round_is_critical() -> None:
    (dear,) = judge(history(scenarios.always_slower(1.45))).lasting

    assert dear.severity == "critical"


def test_what_came_back_is_over_after_three_clean_rounds() -> None:
    scenario = scenarios.exchange(
        "for three rounds", scenarios.crew(8), rounds=14, train=30.0,
        encode=lambda worker, index: 6.0 if worker == "rank-3" and index in (6, 7, 8) else 2.0 + index % 2 / 10,
    )  # fmt: skip

    open_after = [
        any(one.resolved_ns is None for one in judge(history(scenario, upto=index)).lasting) for index in range(14)
    ]
    assert open_after == [index in (7, 8, 9, 10) for index in range(14)]
    (over,) = judge(history(scenario)).lasting
    assert over.workers == ("rank-3",)
    assert over.rounds == (6, 7, 8)
    assert over.resolved_ns == history(scenario, upto=11).windows[-1].end_ns


def test_two_incidents_of_one_phase_are_one_that_workers_join_and_leave() -> None:
    slow = {"rank-1": range(6, 20), "rank-5": range(9, 12)}
    scenario = scenarios.exchange(
        "join and leave", scenarios.crew(8), rounds=18, train=30.0,
        encode=lambda worker, index: 6.0 if index in slow.get(worker, ()) else 2.0,
    )  # fmt: skip

    workers = [judge(history(scenario, upto=index)).lasting[0].workers for index in (8, 11, 17)]

    assert workers == [("rank-1",), ("rank-1", "rank-5"), ("rank-1",)]


def test_a_lone_worker_is_measured_by_its_own_past() -> None:
    scenario = scenarios.exchange(
        "slow aggregation", scenarios.crew(3), rounds=9, train=30.0,
        encode=2.0,
    )  # fmt: skip
    grown = replace(
        scenario,
        phases=tuple(
            replace(did, end_s=did.end_s + 9) if did.name == "aggregate" and did.round == 8 else did
            for did in scenario.phases
        ),
    )

    (verdict,) = judge(history(grown)).once

    assert verdict.workers == ("coordinator",)
    assert verdict.observed == "aggregate took 12.0 s on coordinator; its own usual is 3.0 s."
    assert verdict.evidence["cohorts"][0]["slow"][0]["against"] == "itself"


def test_when_most_are_slow_it_is_one_finding_on_the_phase() -> None:
    scenario = scenarios.exchange(
        "all upload slowly", scenarios.crew(8), rounds=9, train=30.0,
        encode=2.0,
        upload=lambda worker, index: 12.0 if index == 8 and worker != "rank-0" else 4.0,
    )  # fmt: skip

    (verdict,) = judge(history(scenario)).once

    assert verdict.phase == "upload"
    assert len(verdict.workers) == 7
    assert verdict.observed == "upload took 12.0 s on 7 workers; their own usual is 4.0 s."
    assert verdict.evidence["cohorts"][0]["most_slow"] is True
    assert verdict.hypothesis == ""


def test_an_open_incident_keeps_the_past_that_it_began_with() -> None:
    scenario = scenarios.exchange(
        "slow for good", scenarios.crew(2), rounds=30, train=30.0,
        encode=2.0, apply=26.0,
    )  # fmt: skip
    lane = [who.name for who in scenario.workers].index("rank-0")
    frozen = tuple(Baseline(phase="apply", lane=lane + at, seconds=13.0) for at in (0, 1))

    forgot = judge(history(scenario))
    kept = judge(history(scenario, baselines=frozen))

    assert named(forgot) == set()
    assert named(kept) == {("apply", "rank-0"), ("apply", "rank-1")}


def test_a_wait_is_never_judged_however_long() -> None:
    scenario = scenarios.two_slow_encoders()
    waiting = scenarios.renamed(scenario, "encode", "wait")
    blocking = scenarios.renamed(scenario, "encode", "allreduce")

    assert named(judge(history(waiting))) == set()
    assert named(judge(history(blocking))) == set()


def test_a_declared_wait_does_not_count_as_work() -> None:
    scenario = scenarios.exchange(
        "fetch after publish", scenarios.crew(8), rounds=2, train=30.0,
        encode=2.0,
    )  # fmt: skip
    early = {"rank-6", "rank-7"}
    begin = scenario.rounds[1][1]
    fetches = {who.name: begin if who.name in early else begin + 39.5 for who in scenario.workers[1:]}
    extra = [
        scenarios.Did("coordinator", 1, "publish", begin, begin + 40),
        *(scenarios.Did(name, 1, "fetch", at, begin + 42, {"after": "publish"}) for name, at in fetches.items()),
    ]
    waited = replace(scenario, phases=(*scenario.phases, *extra))
    undeclared = replace(waited, phases=tuple(replace(did, attrs={}) for did in waited.phases))

    assert named(judge(history(waited))) == set()
    assert named(judge(history(undeclared))) == {("fetch", worker) for worker in early}


def test_who_waited_under_an_unknown_clock_is_not_named() -> None:
    scenario = scenarios.exchange(
        "slow to apply", scenarios.crew(8, per_machine=1), rounds=2, train=30.0,
        encode=2.0, apply=lambda worker, _index: 60.0 if worker == "rank-2" else 13.0,
    )  # fmt: skip
    assert named(judge(history(scenario))) == {("apply", "rank-2")}

    judgement = judge(history(scenario, errors_ns={"rank-2": -1}))

    assert named(judgement) == set()
    (sight,) = [sight for sight in judgement.sights if sight.phase == "apply"]
    assert sight.abstained == "clock error unknown for what it waited for"


def test_a_clock_error_larger_than_the_difference_names_nobody() -> None:
    scenario = scenarios.exchange(
        "slow to apply", scenarios.crew(8, per_machine=1), rounds=2, train=30.0,
        encode=2.0, apply=lambda worker, _index: 30.0 if worker == "rank-2" else 13.0,
    )  # fmt: skip

    assert named(judge(history(scenario))) == {("apply", "rank-2")}
    assert named(judge(history(scenario, errors_ns={"rank-2": 16_000_000_000}))) == set()


def test_more_work_is_not_slowness() -> None:
    def items(worker: str, phase: str, index: int) -> dict[str, int]:
        return {"items": 600 if worker == "rank-2" else 200} if phase == "train" else {}

    def train(worker: str, index: int) -> float:
        return 90.0 if worker == "rank-2" else 30.0

    uneven = scenarios.exchange("uneven shares", scenarios.crew(8), rounds=3, train=train, encode=2.0, attrs=items)
    unsaid = scenarios.exchange("unsaid shares", scenarios.crew(8), rounds=3, train=train, encode=2.0)

    assert named(judge(history(uneven))) == set()
    assert named(judge(history(unsaid))) == {("train", "rank-2")}


def test_who_takes_as_long_for_half_the_work_has_lost_half_of_its_time() -> None:
    def items(worker: str, phase: str, _index: int) -> dict[str, int]:
        return {"items": 50 if worker == "rank-3" else 100} if phase == "train" else {}

    (verdict,) = judge(
        history(scenarios.exchange("half the work", scenarios.crew(8), rounds=2, train=20.0, encode=2.0, attrs=items))
    ).once

    assert (verdict.phase, verdict.workers) == ("train", ("rank-3",))
    (slow,) = verdict.evidence["cohorts"][0]["slow"]
    assert (slow["ratio"], slow["excess_s"]) == (2.0, 10.0)


def test_stages_are_compared_with_their_own_group() -> None:
    members = tuple(replace(who, group=f"stage-{rank % 2}") for rank, who in enumerate(scenarios.crew(8)))
    slow_stage = {who.name for who in members if who.group == "stage-1"}
    scenario = scenarios.exchange(
        "two stages", members, rounds=3, train=lambda worker, _index: 60.0 if worker in slow_stage else 20.0,
        encode=2.0,
    )  # fmt: skip

    assert named(judge(history(scenario))) == set()


def test_older_devices_are_compared_with_each_other_where_they_compute_and_with_all_elsewhere() -> None:
    members = tuple(
        replace(who, device="NVIDIA A40" if rank < 4 else "NVIDIA H100") for rank, who in enumerate(scenarios.crew(8))
    )
    older = {who.name for who in members[:4]}
    scenario = scenarios.exchange(
        "two sorts of devices", members, rounds=3,
        train=lambda worker, _index: 60.0 if worker in older else 20.0,
        encode=lambda worker, _index: 9.0 if worker == "rank-2" else 2.0,
    )  # fmt: skip

    judgement = judge(history(scenario))

    assert named(judgement) == {("encode", "rank-2")}
    assert [sight.workers for sight in judgement.sights if sight.phase == "train"] == [4, 4]


def test_a_noisy_cohort_says_what_it_could_not_see() -> None:
    judged = judge(history(scenarios.healthy(8, 9, noise=0.3)))
    sights = {sight.phase: sight for sight in judged.sights}

    assert sights["train"].smallest_ratio is not None
    assert sights["train"].smallest_ratio > 2
    assert sights["train"].abstained == f"too noisy to see less than {sights['train'].smallest_ratio:.1f} x"
    quiet = {sight.phase: sight for sight in judge(history(scenarios.always_slower(1.0))).sights}
    assert (quiet["train"].smallest_ratio, quiet["train"].abstained) == (1.5, "")


def test_what_is_too_short_to_matter_is_not_named() -> None:
    scenario = scenarios.exchange(
        "a tiny phase", scenarios.crew(8), rounds=8, train=30.0,
        encode=lambda worker, index: 0.9 if worker == "rank-1" and index == 7 else 0.1,
    )  # fmt: skip

    judgement = judge(history(scenario))

    assert named(judgement) == set()
    (sight,) = [sight for sight in judgement.sights if sight.phase == "encode"]
    assert sight.abstained.startswith("too short to matter: less than 21.0 x")


@pytest.mark.parametrize("workers", [2, 3, 4, 16])
def test_at_most_one_healthy_round_in_a_hundred_names_anybody(workers: int) -> None:
    wrong = 0
    for seed in range(20):
        scenario, before = scenarios.healthy(workers, 12, seed=seed), set()
        for index in range(1, 12):
            now = named(judge(history(scenario, upto=index)))
            wrong += bool(now - before)
            before = now

    assert wrong <= 2  # of 220 rounds


@pytest.mark.parametrize("workers", [2, 3, 4, 8, 64])
def test_twice_as_slow_is_found_within_three_rounds(workers: int) -> None:
    found = 0
    for seed in range(20):
        scenario = scenarios.healthy(workers, 11, seed=seed)
        slow = replace(
            scenario,
            phases=tuple(
                replace(did, end_s=did.begin_s + 2 * (did.end_s - did.begin_s))
                if did.worker == "rank-1" and did.round >= 8 and did.name == "train" else did
                for did in scenario.phases
            ),
        )  # fmt: skip
        found += any(("train", "rank-1") in named(judge(history(slow, upto=index))) for index in (8, 9, 10))

    assert found >= 19


@pytest.mark.parametrize("workers", [2, 3])
def test_of_few_who_takes_what_it_always_takes_is_not_slow_because_a_peer_was_quick(workers: int) -> None:
    def train(worker: str, index: int) -> float:
        usual = 30.0 if index % 2 else 31.0
        return usual / 2 if worker == "rank-0" and index == 11 else usual

    quick = scenarios.exchange(
        "a quick one", scenarios.crew(workers, per_machine=1), rounds=12, train=train, encode=2.0
    )
    slow = scenarios.exchange(
        "a slow one", scenarios.crew(workers, per_machine=1), rounds=12, encode=2.0,
        train=lambda worker, index: train("", index) * (2 if worker == "rank-0" and index == 11 else 1),
    )  # fmt: skip

    assert named(judge(history(quick))) == set()
    assert named(judge(history(slow))) == {("train", "rank-0")}


def test_the_z_that_was_needed_is_told_with_what_rare_values_asked_for() -> None:
    scenario = scenarios.always_slower()
    (cohort,) = [one for one in cohorts(history(scenario)) if one.phase == "train"]
    found = context.build(cohort, 10, {}, DEFAULT)
    heavy = replace(found.rows[-1], heavy=1.5)

    assert found.z_needed(heavy, lasting=True) == pytest.approx(DEFAULT.lasting_z * 1.5)
    assert found.z_needed(heavy, lasting=False) == pytest.approx(found.least_z * 1.5**DEFAULT.heavy_power)
    for verdict in judge(history(scenario)).lasting:
        told = [slow for one in verdict.evidence["cohorts"] for slow in one["slow"]]
        assert told
        assert all(slow["z"] >= slow["z_needed"] for slow in told)


def test_every_figure_of_the_evidence_is_a_number_that_json_knows() -> None:
    for scenario in (scenarios.two_of_four(), scenarios.two_slow_encoders(), scenarios.always_slower()):
        judgement = judge(history(scenario))
        for verdict in (*judgement.once, *judgement.lasting):
            assert all(math.isfinite(figure) for figure in _numbers(verdict.evidence))


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for one in value.values() for number in _numbers(one)]
    if isinstance(value, list):
        return [number for one in value for number in _numbers(one)]
    return [value] if isinstance(value, float) else []
