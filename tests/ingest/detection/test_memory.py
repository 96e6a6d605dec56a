"""Memory that grows, that stays after the end, that only the cyclic collector frees; and peaks in model copies."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ingest.detection.facts import Worker
from ingest.detection.memory import Collected, Held, MemoryJudgement, Span, judge, rounds_of, together
from ingest.detection.memory.trend import mann_kendall, theil_sen
from tests.ingest.detection.histories import nanoseconds

GIB, GB, MIB = float(1 << 30), 1e9, float(1 << 20)
COORDINATOR = Worker(lane=0, name="coordinator", role="coordinator")
ROUND_S, QUIET_S = 100.0, 20.0  # the last seconds of a round are its quiet time


def held(
    floors: Sequence[float],
    *,
    peak: float = 8 * GIB,
    copy: float | None = 2 * GB,
    after: Sequence[float] | None = None,
    period_s: float = 2.0,
    limit: float | None = None,
    collections: Sequence[Collected] = (),
    metric: str = "process_memory_bytes",
) -> Held:
    """A coordinator whose rounds end with these floors (bytes, NaN: not read), sampled; `after` are 2 s apart."""
    readings: list[tuple[float, float]] = []
    for index, floor in enumerate(floors):
        for step in range(round(ROUND_S / period_s)):
            at = index * ROUND_S + step * period_s
            quiet = at - index * ROUND_S >= ROUND_S - QUIET_S
            readings.append((at, floor if quiet else peak))
    end = len(floors) * ROUND_S
    readings += [(end + 2 * step, value) for step, value in enumerate(after or ())]
    readings = [(at, value) for at, value in readings if not math.isnan(value)]
    return Held(
        worker=COORDINATOR, metric=metric, copy_bytes=copy, limit_bytes=limit, collections=tuple(collections),
        times_ns=np.array([nanoseconds(at) for at, _ in readings]), values=np.array([value for _, value in readings]),
        rounds=tuple(_span(index) for index in range(len(floors))), ended_ns=nanoseconds(end) if after else None,
    )  # fmt: skip


def _span(index: int) -> Span:
    begin = index * ROUND_S
    return Span(
        index=index, attempt=0, begin_ns=nanoseconds(begin), end_ns=nanoseconds(begin + ROUND_S - 0.001),
        quiet_from_ns=nanoseconds(begin + ROUND_S - QUIET_S), quiet_to_ns=nanoseconds(begin + ROUND_S - 0.001),
    )  # fmt: skip


def kinds(judgement: MemoryJudgement) -> list[str]:
    return [verdict.kind for verdict in judgement.verdicts]


def rising(rounds: int, by: float, *, base: float = 3 * GIB) -> list[float]:
    return [base + index * by for index in range(rounds)]


def test_a_coordinator_that_keeps_models_after_its_end_is_told_with_its_peak_in_model_copies() -> None:
    kept = held([5 * GIB, 9 * GIB], peak=34.4 * GIB, copy=2.5 * GB, after=[28 * GIB] * 40)

    judgement = judge(kept)

    (verdict,) = judgement.verdicts
    assert (verdict.kind, verdict.workers, verdict.resolved_ns) == ("memory_retained", ("coordinator",), None)
    assert "peak >= 34.4 GiB (14.8 model copies)" in verdict.observed
    assert "keeps 9.9 model copies (23.0 GiB) more than after round 0 (5.0 GiB)" in verdict.observed
    assert verdict.opened_ns == nanoseconds(2 * ROUND_S + 60)
    assert judgement.rounds[-1].copies == pytest.approx(14.8, abs=0.05)


def test_what_a_coordinator_rightly_keeps_is_not_retained() -> None:
    assert kinds(judge(held([10 * GIB, 10 * GIB], after=[10 * GIB + 1.9 * GB] * 40))) == []


@pytest.mark.parametrize(("readings", "expected"), [(29, []), (31, ["memory_retained"])])
def test_memory_must_stay_for_a_minute_after_the_end(readings: int, expected: list[str]) -> None:
    judgement = judge(held([5 * GIB, 5 * GIB], after=[20 * GIB] * readings))

    assert kinds(judgement) == expected
    assert any("not read for 60 s" in why for why in judgement.abstained) is not bool(expected)


def test_memory_given_back_within_the_minute_is_not_retained_and_later_it_is_over() -> None:
    early = held([5 * GIB, 5 * GIB], after=[20 * GIB] * 20 + [5 * GIB] * 30)
    late = held([5 * GIB, 5 * GIB], after=[20 * GIB] * 40 + [5 * GIB] * 30)

    assert kinds(judge(early)) == []
    (verdict,) = judge(late).verdicts
    assert verdict.resolved_ns == nanoseconds(2 * ROUND_S + 80)


def test_what_is_kept_is_measured_by_the_first_round_of_the_newest_attempt() -> None:
    kept = held([12 * GIB, 10 * GIB, 2 * GIB, 4 * GIB], after=[6 * GIB] * 40)
    restarted = replace(kept, rounds=(*kept.rounds[:2], *(replace(one, attempt=1) for one in kept.rounds[2:])))
    cut = replace(restarted, rounds=restarted.rounds[3:], from_first=False)

    (verdict,) = judge(restarted).verdicts
    assert "more than after round 2 (2.0 GiB)" in verdict.observed
    assert kinds(judge(cut)) == []
    assert "retained after the end: no reading after the first round" in judge(cut).abstained


def test_without_the_size_of_a_model_retention_is_not_judged_and_says_so() -> None:
    judgement = judge(held([5 * GIB, 5 * GIB], copy=None, after=[20 * GIB] * 40))

    assert kinds(judgement) == []
    assert "retained after the end: the model's bytes are not known" in judgement.abstained


def test_a_leak_of_a_fifth_of_a_copy_a_round_is_growth_after_five_judged_rounds() -> None:
    six, seven = (judge(held(rising(rounds, 0.4 * GB))) for rounds in (6, 7))

    assert kinds(six) == []
    assert "growth: 4 rounds with a reading between them are known, 5 are needed" in six.abstained
    (verdict,) = seven.verdicts
    assert verdict.kind == "memory_growth"
    assert verdict.observed.startswith(
        "On coordinator the memory of the process grows by 0.2 model copies (381 MiB) a round"
    )
    assert verdict.observed.endswith("its limit is not known.")
    assert verdict.rounds == (2, 3, 4, 5, 6)


def test_the_first_two_rounds_of_an_attempt_are_left_out() -> None:
    assert kinds(judge(held([1 * GIB, 6 * GIB, *[9 * GIB] * 6]))) == []


def test_a_cache_filled_once_is_no_leak() -> None:
    once = [3 * GIB, 3 * GIB, 3 * GIB, 3.01 * GIB, 3.02 * GIB, 8 * GIB, 8.01 * GIB, 8.02 * GIB]

    assert kinds(judge(held(once))) == []


def test_floors_that_go_up_and_down_do_not_grow() -> None:
    dice = np.random.default_rng(3)

    for _ in range(50):
        assert kinds(judge(held((5 * GIB + dice.normal(0, GIB, 10)).tolist()))) == []


def test_what_rises_and_falls_in_turns_or_too_slowly_is_no_growth_yet() -> None:
    wobbling = [3.0, 3.0, 3.0, 5.0, 4.0, 6.0, 5.0, 7.0, 6.0, 8.0]

    assert kinds(judge(held([floor * GIB for floor in wobbling]))) == []
    assert kinds(judge(held(rising(10, 0.08 * 2 * GB)))) == []
    assert kinds(judge(held(rising(10, 0.11 * 2 * GB)))) == ["memory_growth"]


def test_a_slow_leak_is_found_over_many_rounds() -> None:
    slow = held(rising(60, 0.02 * 2 * GB), peak=9 * GIB)

    assert kinds(judge(replace(slow, rounds=slow.rounds[:12]))) == []
    (verdict,) = judge(slow).verdicts
    assert verdict.evidence["held"][0]["rounds"] == 50


@pytest.mark.parametrize(
    ("limit", "severity", "told"),
    [
        (100 * GIB, "warning", "the limit is reached in 247 rounds, 6.9 h."),
        (12 * GIB, "critical", "the limit is reached in 11 rounds, 18 min."),
        (8 * GIB, "critical", "its peak is at the limit."),
    ],
)
def test_growth_says_when_the_limit_is_reached(limit: float, severity: str, told: str) -> None:
    (verdict,) = judge(held(rising(8, 0.4 * GB), limit=limit)).verdicts

    assert verdict.severity == severity
    assert verdict.observed.endswith(told)


def test_without_the_size_of_a_model_growth_counts_where_the_limit_is_near() -> None:
    def grown(limit: float | None, planned_s: float | None = None) -> list[str]:
        made = held(rising(8, 0.2 * GB), copy=None, limit=limit)
        return kinds(judge(replace(made, planned_end_ns=planned_s and nanoseconds(planned_s))))

    assert grown(20 * GIB) == ["memory_growth"]
    assert grown(None) == []
    assert grown(1000 * GIB) == []  # more than a day away
    assert grown(20 * GIB, 8 * ROUND_S + 600) == []  # over before that
    assert grown(20 * GIB, 8 * ROUND_S + 60_000) == ["memory_growth"]


def test_falls_at_collections_tell_a_reference_cycle_and_explain_what_is_kept() -> None:
    fall = Collected(time_ns=nanoseconds(250.0), before_bytes=9 * GIB, after_bytes=9 * GIB - 5 * GB)
    small = replace(fall, after_bytes=9 * GIB - 0.9 * GB)

    found = judge(held([5 * GIB, 5 * GIB], after=[20 * GIB] * 40, collections=[fall]))

    assert kinds(found) == ["memory_retained", "reference_cycle"]
    assert found.verdicts[0].hypothesis.startswith("Reference cycle")
    assert found.verdicts[1].opened_ns == fall.time_ns
    idle = replace(fall, after_bytes=fall.before_bytes, time_ns=fall.time_ns + 10**10)
    again = judge(held([5 * GIB, 5 * GIB], collections=[fall, replace(fall, time_ns=idle.time_ns - 1), idle]))
    assert again.verdicts[0].opened_ns == fall.time_ns  # the first that freed it
    assert found.verdicts[1].observed == "A full collection of coordinator freed 2.5 model copies (4.7 GiB) at most."
    assert kinds(judge(held([5 * GIB, 5 * GIB], collections=[small]))) == []


def test_what_a_collection_frees_is_a_reference_cycle_though_the_allocator_keeps_the_memory() -> None:
    kept = Collected(time_ns=nanoseconds(250.0), before_bytes=9 * GIB, after_bytes=9 * GIB, freed_bytes=5 * GB)

    (verdict,) = judge(held([5 * GIB, 5 * GIB], collections=[kept])).verdicts

    assert verdict.kind == "reference_cycle"
    assert verdict.observed.endswith(
        "freed 2.5 model copies (4.7 GiB) at most, which its allocator keeps for what comes."
    )
    untold = replace(kept, before_bytes=None)
    assert kinds(judge(held([5 * GIB, 5 * GIB], collections=[untold]))) == ["reference_cycle"]
    assert kinds(judge(held([5 * GIB, 5 * GIB], collections=[replace(kept, freed_bytes=0.9 * GB)]))) == []
    grew = replace(kept, after_bytes=4 * GIB, freed_bytes=-1.0 * GB)
    assert judge(held([5 * GIB, 5 * GIB], collections=[grew])).verdicts[0].observed.endswith("(5.0 GiB) at most.")


def test_floors_that_fall_only_where_collections_ran_tell_a_reference_cycle() -> None:
    floors = [3 * GIB, 3 * GIB, 4 * GIB, 6 * GIB, 3 * GIB, 5 * GIB, 7 * GIB, 3 * GIB, 5 * GIB]
    at = [Collected(time_ns=nanoseconds(index * ROUND_S + 50)) for index in (4, 7)]

    (verdict,) = judge(held(floors, collections=at)).verdicts
    assert (verdict.kind, verdict.opened_ns) == ("reference_cycle", at[0].time_ns)
    assert kinds(judge(held(floors, collections=at[:1]))) == []  # it fell without one as well
    assert kinds(judge(held(floors))) == []


def test_what_collections_do_not_free_is_something_else() -> None:
    idle = Collected(time_ns=nanoseconds(250.0), before_bytes=9 * GIB, after_bytes=9 * GIB)

    (verdict,) = judge(held([5 * GIB, 5 * GIB], after=[20 * GIB] * 40, collections=[idle])).verdicts

    assert verdict.hypothesis.startswith("Something still refers to it, or the allocator keeps it")


@pytest.mark.parametrize("metric", ["cgroup_memory_cache_bytes", "device_memory_reserved_bytes"])
def test_page_cache_and_reserved_memory_are_no_leak(metric: str) -> None:
    judgement = judge(held(rising(9, GB), metric=metric, after=[60 * GIB] * 40))

    assert kinds(judgement) == []
    assert judgement.abstained == (f"{metric}: page cache and reserved memory are no leak",)


def test_a_round_without_a_reading_has_neither_floor_nor_peak() -> None:
    seldom = held([3 * GIB, math.nan, 5 * GIB])
    none = replace(seldom, times_ns=seldom.times_ns[:0], values=seldom.values[:0])

    assert [one.floor for one in rounds_of(seldom)] == [3 * GIB, None, 5 * GIB]
    assert [(one.floor, one.peak, one.told) for one in rounds_of(none)] == [(None, None, "not known")] * 3


def test_a_peak_is_exact_where_a_high_water_mark_is_kept() -> None:
    sampled = held([3 * GIB], peak=30 * GIB, copy=2.5 * GB)
    (marked,) = rounds_of(replace(sampled, rounds=(replace(sampled.rounds[0], high_water=34.4 * GIB),), hosts=2))

    assert rounds_of(sampled)[0].told == ">= 30.0 GiB (12.9 model copies)"
    assert marked.told == "34.4 GiB (14.8 model copies)"
    assert marked.copies_per_host == pytest.approx(7.4, abs=0.05)


def test_a_restarted_worker_is_judged_by_its_newest_attempt() -> None:
    grown = held(rising(8, 0.4 * GB))
    restarted = replace(grown, rounds=tuple(replace(span, attempt=int(span.index >= 5)) for span in grown.rounds))

    assert kinds(judge(grown)) == ["memory_growth"]
    assert kinds(judge(restarted)) == []


def test_workers_with_the_same_trouble_are_one_incident() -> None:
    one = held(rising(8, 0.4 * GB))
    other = replace(one, worker=Worker(lane=1, name="rank-0"), limit_bytes=12 * GIB)

    (verdict,) = together([judge(one), judge(other)])

    assert verdict.workers == ("coordinator", "rank-0")
    assert verdict.severity == "critical"
    assert [row["worker"] for row in verdict.evidence["held"]] == ["coordinator", "rank-0"]


def test_tau_and_slope_are_those_of_the_books() -> None:
    assert mann_kendall(np.array([1.0, 2.0, 3.0, 4.0])) == 1.0
    assert mann_kendall(np.array([4.0, 3.0, 2.0])) == -1.0
    assert mann_kendall(np.array([1.0, 3.0, 2.0, 4.0])) == pytest.approx(4 / 6)
    assert theil_sen(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0, 60.0])) == pytest.approx(11.0)
    assert math.isnan(theil_sen(np.array([0.0]), np.array([1.0])))
