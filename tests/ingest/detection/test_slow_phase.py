"""Which open phases are suspect, slow and stalled while they run, and who is missing or lost."""

from dataclasses import replace

import numpy as np
import pytest

from ingest.detection.facts import Kind
from ingest.detection.slow_phase import Level, Live, Open, Policy, Presence, Seen, Watched, judge, wording
from ingest.detection.slow_phase.limits import Basis, limits
from ingest.detection.slow_phase.missing import Missing
from ingest.detection.slow_phase.usual import Before
from ingest.detection.wording import ROUNDS
from tests.ingest import scenarios
from tests.ingest.detection.histories import nanoseconds
from tests.ingest.detection.rounds_going_on import live
from tests.ingest.scenarios import Did, Scenario

SIXTEEN = scenarios.two_slow_encoders(4)
ENCODES_AT = SIXTEEN.rounds[-1][0] + 30.0


def kinds(watched: Watched) -> list[str]:
    return [verdict.kind for verdict in watched.verdicts]


def named(watched: Watched, kind: str = "slow_phase") -> set[tuple[str, str]]:
    return {(verdict.phase, who) for verdict in watched.verdicts if verdict.kind == kind for who in verdict.workers}


def level_of(known: Live, worker: str) -> Level:
    lane = next(one.lane for one in known.workers if one.name == worker)
    return next(mark.level for mark in judge(known).marks if mark.lane == lane)


def first(scenario: Scenario, begin_s: float, level: Level, *, until_s: float, worker: str) -> float:
    """After how many seconds, in steps of a tenth, the worker's phase reaches the level."""
    for tenth in range(1, round(until_s * 10)):
        if level_of(live(scenario, begin_s + tenth / 10 + 1e-6), worker) >= level:
            return tenth / 10
    return float("inf")


def test_two_slow_encoders_of_sixteen_are_suspect_near_three_seconds_and_slow_near_four_and_a_half() -> None:
    suspect = first(SIXTEEN, ENCODES_AT, Level.SUSPECT, until_s=10, worker="rank-6")
    slow = first(SIXTEEN, ENCODES_AT, Level.SLOW, until_s=10, worker="rank-6")

    assert 2.9 <= suspect <= 3.4
    assert 4.2 <= slow <= 4.6
    assert slow < 17.8 - 13


@pytest.mark.parametrize("after_s", [4.6, 9.0, 17.7])
def test_nobody_else_is_named_not_even_those_that_wait_for_them(after_s: float) -> None:
    watched = judge(live(SIXTEEN, ENCODES_AT + after_s))

    assert named(watched) == {("encode", "rank-6"), ("encode", "rank-7")}
    assert kinds(watched) == ["slow_phase"]
    assert {mark.level for mark in watched.marks} == {Level.FINE, Level.SLOW}
    assert "apply: waits for coordinator" in watched.abstained
    assert "aggregate: waits for rank-6 and rank-7" in watched.abstained


def test_it_is_told_with_the_peers_that_have_finished_and_the_machine_that_both_share() -> None:
    (verdict,) = judge(live(SIXTEEN, ENCODES_AT + 5)).verdicts

    assert (
        verdict.observed == "encode still runs on rank-6 and rank-7 after 5.0 s; 14 of 15 peers finished within 2.3 s."
    )
    assert verdict.hypothesis == "Both run on one physical machine (machine-3), which none of the others uses."
    assert verdict.fingerprint == "slow_phase@3:encode"
    assert verdict.severity == "warning"
    assert (verdict.resolved_ns, verdict.rounds) == (None, (3,))
    assert [SIXTEEN.phases[start].worker for _, start, _, _ in verdict.marks] == ["rank-6", "rank-7"]
    slow = verdict.evidence["slow"][0]
    assert (slow["against"], slow["finished"], slow["peers"], slow["foretold"]) == ("peers", 14, 15, False)


def test_it_opened_when_the_limit_was_reached_however_late_it_is_looked_at() -> None:
    early, late = (judge(live(SIXTEEN, ENCODES_AT + after_s)).verdicts[0] for after_s in (5, 12))

    assert early.opened_ns == late.opened_ns
    assert early.opened_ns == pytest.approx(nanoseconds(ENCODES_AT + 4.4), abs=100_000_000)


def test_a_deadline_says_when_to_look_again_and_then_it_is_reached() -> None:
    before = judge(live(SIXTEEN, ENCODES_AT + 2.5))
    lane = next(one.lane for one in live(SIXTEEN, ENCODES_AT).workers if one.name == "rank-6")
    due = next(one for one in before.deadlines if one.lane == lane and one.level is Level.SLOW)
    due_s = (due.at_ns - nanoseconds(0)) / 1e9

    assert named(judge(live(SIXTEEN, due_s - 0.01))) == set()
    assert named(judge(live(SIXTEEN, due_s + 0.01))) == {("encode", "rank-6"), ("encode", "rank-7")}
    waiting = [one for one in before.deadlines if one.lane == 0]
    assert waiting == []


def test_of_a_pair_a_quarter_more_is_not_slow_and_four_times_is() -> None:
    close, far = scenarios.pair(17.8, 22.3, rounds=3), scenarios.pair(6.0, 24.0, rounds=3)

    assert named(judge(live(close, close.rounds[-1][0] + 48 + 22.2))) == set()
    assert named(judge(live(far, far.rounds[-1][0] + 48 + 23.9))) == {("prepare", "rank-1")}


def test_of_a_pair_three_times_is_needed_until_the_noise_is_known() -> None:
    early, later = (scenarios.pair(6.0, 17.0, rounds=rounds) for rounds in (3, 8))

    assert named(judge(live(early, early.rounds[-1][0] + 48 + 16.9))) == set()
    assert named(judge(live(later, later.rounds[-1][0] + 48 + 16.9))) == {("prepare", "rank-1")}


def test_a_quick_peer_makes_nobody_of_a_pair_slow() -> None:
    scenario = scenarios.exchange(
        "a quick one", scenarios.crew(2, per_machine=1), rounds=8, train=30.0,
        encode=lambda worker, index: 8.0 if worker == "rank-0" and index == 7 else 20.0,
    )  # fmt: skip
    begin = scenario.rounds[-1][0] + 30

    assert named(judge(live(scenario, begin + 19.9))) == set()
    later = scenarios.exchange(
        "a slow one", scenarios.crew(2, per_machine=1), rounds=8, train=30.0,
        encode=lambda worker, index: (8.0 if worker == "rank-0" else 40.0) if index == 7 else 20.0,
    )  # fmt: skip
    assert named(judge(live(later, begin + 30.1))) == {("encode", "rank-1")}


def test_what_blocks_on_others_counts_from_the_end_of_what_it_waited_for() -> None:
    watched = judge(live(SIXTEEN, SIXTEEN.rounds[-1][1] - 0.5))

    assert {one.name for one in live(SIXTEEN, SIXTEEN.rounds[-1][1] - 0.5).opens} == {"apply"}
    assert watched.verdicts == ()
    assert {round(mark.worked_s, 1) for mark in watched.marks} == {12.5}


def test_before_half_of_the_peers_have_finished_the_rounds_before_are_the_measure() -> None:
    scenario = scenarios.exchange(
        "all encode slowly", scenarios.crew(8), rounds=6, train=30.0,
        encode=lambda worker, index: 20.0 if index == 5 and worker != "rank-0" else 2.0,
    )  # fmt: skip
    begin = scenario.rounds[-1][0] + 30

    assert named(judge(live(scenario, begin + 3.9))) == set()
    watched = judge(live(scenario, begin + 5.0))

    assert {who for _, who in named(watched)} == {f"rank-{rank}" for rank in range(1, 8)}
    (verdict,) = watched.verdicts
    assert verdict.observed == "encode still runs on 7 workers after 5.0 s; usual before this round was 2.0 s."
    assert verdict.hypothesis == ""


def test_with_nothing_to_compare_with_only_the_absolute_cap_speaks() -> None:
    scenario = scenarios.exchange("an hour", scenarios.crew(4), rounds=1, train=3600.0, encode=2.0)
    quiet, late = (judge(live(scenario, at_s, cold=frozenset())) for at_s in (1799.0, 1801.0))

    assert named(quiet) == set()
    assert "train: nothing to compare with yet, only the absolute cap counts" in quiet.abstained
    assert {who for _, who in named(late)} == {f"rank-{rank}" for rank in range(4)}


def test_who_warms_up_is_shown_and_not_judged() -> None:
    known = live(SIXTEEN, ENCODES_AT + 9)
    cold = replace(known, cold=frozenset(one.lane for one in known.workers if one.name == "rank-6"))

    assert named(judge(cold)) == {("encode", "rank-7")}


def test_a_phase_that_goes_on_and_on_is_stalled_as_well_as_slow() -> None:
    scenario = scenarios.exchange(
        "hangs", scenarios.crew(8), rounds=6, train=30.0,
        encode=lambda worker, index: 500.0 if index == 5 and worker == "rank-2" else 2.0,
    )  # fmt: skip
    begin = scenario.rounds[-1][0] + 30
    limit = 4.4 + 60

    assert kinds(judge(live(scenario, begin + limit - 2))) == ["slow_phase"]
    watched = judge(live(scenario, begin + limit + 2))

    assert named(watched, "stalled") == {("encode", "rank-2")}
    assert [verdict.severity for verdict in watched.verdicts] == ["warning", "critical"]


def test_a_worker_that_is_not_heard_is_lost_and_not_slow() -> None:
    at = ENCODES_AT + 17
    quiet = Seen(heard_ns=nanoseconds(at - 16))
    watched = judge(live(SIXTEEN, at, seen={"rank-6": quiet}))

    assert named(watched) == {("encode", "rank-7")}
    (lost,) = [verdict for verdict in watched.verdicts if verdict.kind == "worker_lost"]
    assert (lost.workers, lost.severity, lost.fingerprint) == (("rank-6",), "critical", "worker_lost:")
    assert lost.observed == "rank-6: nothing was heard for 16.0 s."
    assert lost.opened_ns == nanoseconds(at - 1)


def test_a_lost_worker_comes_with_what_its_host_knows_and_one_that_ended_is_not_lost() -> None:
    at = ENCODES_AT + 5
    seen = {
        "rank-1": Seen(heard_ns=nanoseconds(at), presence=Presence.GONE, reason="killed for memory"),
        "rank-2": Seen(heard_ns=nanoseconds(at - 100), presence=Presence.ENDED),
    }

    (lost,) = [verdict for verdict in judge(live(SIXTEEN, at, seen=seen)).verdicts if verdict.kind == "worker_lost"]

    assert lost.observed == "rank-1: killed for memory."
    assert lost.opened_ns == nanoseconds(at)  # gone it is lost at once, however lately it was heard


def test_of_several_that_are_missing_it_is_said_in_the_plural() -> None:
    one = Missing(lane=1, phase="encode", since_ns=0, limit_s=3.0, finished=6, peers=7)

    assert wording.missing("encode", ["rank-1", "rank-2"], [one, replace(one, lane=2)], 6 * 10**9, ROUNDS) == (
        "rank-1 and rank-2 have not begun encode 6.0 s after their last phase ended; 6 of 7 peers have ended it."
    )


def test_a_phase_of_others_is_not_waited_for_once_its_worker_is_gone() -> None:
    at = ENCODES_AT + 17
    gone = {name: Seen(heard_ns=nanoseconds(at), presence=Presence.GONE) for name in ("rank-6", "rank-7")}
    known = live(SIXTEEN, at, seen=gone)
    left = replace(known, opens=tuple(one for one in known.opens if one.name != "encode"))

    assert "aggregate: waits for rank-6 and rank-7" not in judge(left).abstained


def test_who_has_not_begun_what_the_peers_have_ended_is_missing() -> None:
    scenario = scenarios.exchange("no encode", scenarios.crew(8), rounds=6, train=30.0, encode=2.0)
    gap = replace(
        scenario,
        phases=tuple(
            did for did in scenario.phases
            if not (did.worker == "rank-3" and did.round == 5 and did.name in ("encode", "upload", "apply"))
        ),
    )  # fmt: skip
    begin = scenario.rounds[-1][0] + 30

    assert named(judge(live(gap, begin + 3.0)), "missing") == set()
    watched = judge(live(gap, begin + 6.0))

    assert named(watched, "missing") == {("encode", "rank-3")}  # not the upload: that comes after it
    verdict = next(verdict for verdict in watched.verdicts if verdict.phase == "encode")
    assert (
        verdict.observed == "rank-3 has not begun encode 6.0 s after its last phase ended; 7 of 7 peers have ended it."
    )
    lane = next(one.lane for one in live(gap, begin).workers if one.name == "rank-3")
    had_nothing_to_encode = replace(live(gap, begin + 6.0), done=frozenset({lane}))
    assert named(judge(had_nothing_to_encode), "missing") == set()


def test_a_gap_that_the_peers_had_as_well_is_granted() -> None:
    scenario = scenarios.exchange("a gap", scenarios.crew(8), rounds=6, train=30.0, encode=2.0)
    begin = scenario.rounds[-1][0]
    waits = {"rank-3": 29.0}
    phases = [
        replace(did, begin_s=did.begin_s + 20, end_s=did.end_s + 20) if did.round == 5 and did.name != "train" else did
        for did in scenario.phases
        if not (did.worker in waits and did.round == 5 and did.name != "train")
    ]
    late = replace(scenario, phases=tuple(phases))

    assert named(judge(live(late, begin + 30 + 23.5)), "missing") == set()
    assert ("encode", "rank-3") in named(judge(live(late, begin + 30 + 25.0)), "missing")


def test_progress_tells_before_the_limit_and_only_with_two_readings() -> None:
    known = live(SIXTEEN, ENCODES_AT + 2.6)
    begin = nanoseconds(ENCODES_AT)
    readings = ((begin + 1_800_000_000, 0.1), (begin + 2_500_000_000, 0.14))

    def with_progress(*progress: tuple[int, float]) -> Watched:
        opens = tuple(
            replace(one, progress=progress) if known.workers[one.lane].name == "rank-6" else one for one in known.opens
        )
        return judge(replace(known, opens=opens))

    assert named(with_progress(readings[0])) == set()
    assert named(with_progress((readings[0][0], 0.05), readings[1])) == set()
    watched = with_progress(*readings)
    assert named(watched) == {("encode", "rank-6")}
    assert watched.verdicts[0].evidence["slow"][0]["foretold"] is True
    assert named(with_progress((readings[0][0], 0.7), (readings[1][0], 0.9))) == set()


def with_readings(known: Live, worker: str, *progress: tuple[float, float]) -> Live:
    """The round with readings of the worker's open phase: (second of the scenario, share)."""
    told = tuple((nanoseconds(at_s), share) for at_s, share in progress)
    opens = [replace(one, progress=told) if known.workers[one.lane].name == worker else one for one in known.opens]
    return replace(known, opens=tuple(opens))


def test_progress_of_what_waited_is_counted_from_the_end_of_that() -> None:
    scenario = scenarios.exchange(
        "one is late", scenarios.crew(8), rounds=6, train=10.0,
        encode=lambda worker, _index: 8.0 if worker == "rank-3" else 2.0,
    )  # fmt: skip
    aggregated = scenario.rounds[-1][1] - 13.0
    known = live(scenario, aggregated + 9)

    on_time = with_readings(known, "rank-1", (aggregated + 6.5, 0.5), (aggregated + 8.0, 8 / 13))
    late = with_readings(known, "rank-1", (aggregated + 6.5, 0.1), (aggregated + 8.0, 0.12))

    assert named(judge(on_time)) == set()
    assert named(judge(late)) == {("apply", "rank-1")}


def test_what_is_nested_in_a_phase_is_no_part_of_what_its_progress_tells() -> None:
    scenario = scenarios.exchange("nested", scenarios.crew(8), rounds=6, train=10.0, encode=2.0)
    begin = scenario.rounds[-1][0]
    phases = list(scenario.phases)
    place = next(at for at, did in enumerate(phases) if (did.round, did.worker, did.name) == (5, "rank-3", "train"))
    phases[place] = replace(phases[place], end_s=begin + 60)
    phases.append(Did("rank-3", 5, "data", begin + 1, begin + 6, parent=place))
    known = live(replace(scenario, phases=tuple(phases)), begin + 10.5)

    # Half of it is done after ten seconds, of which five are those of its data.
    assert named(judge(with_readings(known, "rank-3", (begin + 9.0, 0.4), (begin + 10.0, 0.5)))) == set()
    assert named(judge(with_readings(known, "rank-3", (begin + 9.0, 0.2), (begin + 10.0, 0.25)))) == {
        ("train", "rank-3")
    }


@pytest.mark.parametrize("waits_s", [0.0, 30.0], ids=["at once", "after half a minute of waiting"])
def test_of_earlier_times_of_a_phase_their_own_work_counts(waits_s: float) -> None:
    def twice(index: int, begin: float) -> list[Did]:
        mine = scenarios.exchange("applied", scenarios.crew(8), rounds=1, train=10.0, encode=2.0, apply=4.0)
        return [replace(did, round=index, begin_s=begin + did.begin_s, end_s=begin + did.end_s) for did in mine.phases]

    phases = [did for index in range(6) for did in twice(index, index * 200.0)]
    last = [did for did in phases if did.round == 5]
    end = max(did.end_s for did in last)
    # rank-1 waits in its first time for what is aggregated, and has another second to do in a second one.
    shift = [
        replace(did, begin_s=did.begin_s - waits_s) if (did.worker, did.name) == ("rank-1", "apply") else did
        for did in last
    ]
    again = Did("rank-1", 5, "apply", end, end + 2)
    rounds = tuple((index * 200.0, index * 200.0 + 20.0) for index in range(6))
    whole = scenarios.exchange("applied", scenarios.crew(8), rounds=1, train=10.0, encode=2.0)
    told = Scenario("twice", whole.workers, rounds, (*(did for did in phases if did.round < 5), *shift, again))

    assert level_of(live(told, end + 1), "rank-1") is Level.FINE


def test_a_phase_stands_still_while_one_nested_in_it_is_open() -> None:
    scenario = scenarios.exchange("nested", scenarios.crew(8), rounds=6, train=10.0, encode=2.0)
    begin = scenario.rounds[-1][0]
    known = live(scenario, begin + 9)
    trains = [one for one in known.opens if one.name == "train"]
    lane = trains[3].lane
    nested = Open(
        lane=lane, attempt=lane, start=10_000, parent=trains[3].start, name="allreduce", kind=Kind.TRANSFER, round=5,
        begin_ns=nanoseconds(begin + 6), seen_ns=nanoseconds(begin + 60),
    )  # fmt: skip
    finished = [Did(one, 5, "train", begin, begin + 10) for one in (f"rank-{rank}" for rank in range(8))]
    ended = replace(scenario, phases=(*(did for did in scenario.phases if did.round < 5), *finished))
    at = live(ended, begin + 60)
    mine = replace(trains[3], seen_ns=nanoseconds(begin + 60))
    without = at.spans.lane != lane
    columns = {name: getattr(at.spans, name)[without] for name in at.spans.__slots__ if name != "names"}
    alone = replace(at, spans=replace(at.spans, **columns), opens=(mine,))

    assert named(judge(alone)) == {("train", at.workers[lane].name)}
    assert named(judge(replace(alone, opens=(mine, nested)))) == set()


def test_who_waited_under_an_unknown_clock_is_not_named() -> None:
    scenario = scenarios.exchange(
        "slow to apply", scenarios.crew(8, per_machine=1), rounds=6, train=30.0, encode=2.0,
        apply=lambda worker, index: 60.0 if worker == "rank-2" and index == 5 else 13.0,
    )  # fmt: skip
    at = scenario.rounds[-1][1] - 5

    assert named(judge(live(scenario, at))) == {("apply", "rank-2")}
    watched = judge(live(scenario, at, errors_ns={"rank-2": -1}))
    assert named(watched) == set()
    assert "apply: clock error unknown for what it waited for" in watched.abstained


def test_more_work_is_granted_more_time() -> None:
    def items(worker: str, phase: str, _index: int) -> dict[str, int]:
        return {"items": 600 if worker == "rank-2" else 200} if phase == "train" else {}

    uneven = scenarios.exchange(
        "uneven shares", scenarios.crew(8), rounds=6, encode=2.0, attrs=items,
        train=lambda worker, _index: 90.0 if worker == "rank-2" else 30.0,
    )  # fmt: skip
    unsaid = scenarios.exchange(
        "unsaid shares",
        scenarios.crew(8),
        rounds=6,
        encode=2.0,
        train=lambda worker, _index: 90.0 if worker == "rank-2" else 30.0,
    )
    at = uneven.rounds[-1][0] + 85

    assert named(judge(live(uneven, at))) == set()
    assert named(judge(live(unsaid, at))) == {("train", "rank-2")}


def test_a_run_in_which_nothing_ends_stands_still_and_says_who_is_where() -> None:
    scenario = scenarios.exchange(
        "stands still", scenarios.crew(3), rounds=6, train=30.0,
        encode=lambda worker, index: 5000.0 if index == 5 and worker != "rank-0" else 2.0,
    )  # fmt: skip
    begin = scenario.rounds[-1][0] + 33  # rank-0 has uploaded
    quiet = judge(live(scenario, begin + 6 * 49 - 1))
    watched = judge(live(scenario, begin + 310))

    assert "run_stalled" not in kinds(quiet)
    verdict = watched.verdicts[-1]
    assert (verdict.kind, verdict.severity) == ("run_stalled", "critical")
    assert verdict.observed == (
        "No phase has ended anywhere for 310.0 s: "
        "coordinator in aggregate, rank-0 in apply, rank-1 and rank-2 in encode."
    )


def test_a_run_whose_workers_are_all_lost_does_not_stand_still() -> None:
    at = ENCODES_AT + 2000
    gone = {who.name: Seen(heard_ns=nanoseconds(at - 1000)) for who in SIXTEEN.workers}

    assert set(kinds(judge(live(SIXTEEN, at, index=3, seen=gone)))) == {"worker_lost"}


@pytest.mark.parametrize(
    ("finished", "peers", "basis"),
    [(1, 1, Basis.PEERS), (1, 2, Basis.CAP), (2, 3, Basis.PEERS), (7, 15, Basis.CAP), (8, 15, Basis.PEERS)],
)
def test_peers_are_a_measure_when_half_of_them_and_at_least_two_have_finished(
    finished: int, peers: int, basis: Basis
) -> None:
    assert limits(np.full(finished, 2.0), peers, None, 49.0, Policy()).basis is basis


@pytest.mark.parametrize(("heavy", "grows"), [(1.0, 1.0), (1.2, 1.728)])
def test_noise_few_peers_and_heavy_tails_each_put_the_limit_off(heavy: float, grows: float) -> None:
    before = Before(
        lanes=frozenset(), last=frozenset(), rounds=9, sigma=0.2, heavy=heavy, count=0, median_s=float("nan"),
        p95_s=float("nan"), repeats=False, work={},
    )  # fmt: skip

    four, forty = (limits(np.full(count, 10.0), count + 1, before, 20.0, Policy()).slow_s for count in (4, 40))

    assert four == pytest.approx(10 * np.exp(0.2 * (3.5 * grows * np.sqrt(1 + 1.57 / 4) + 0.30)))
    assert forty == pytest.approx(10 * np.exp(0.2 * 3.5 * grows * np.sqrt(1 + 1.57 / 40)))


@pytest.mark.parametrize(("round_s", "more"), [(5.0, 1.0), (49.0, 2.45), (600.0, 5.0), (float("nan"), 1.0)])
def test_what_makes_it_slow_is_a_twentieth_of_the_round_within_bounds(round_s: float, more: float) -> None:
    found = limits(np.array([0.1] * 8), 9, None, round_s, Policy())

    assert found.slow_s == pytest.approx(0.1 + more)
    assert found.suspect_s == pytest.approx(1.1)
