"""Intervals between two boundaries: whose boundary counts, whether a check passed, and what they consist of."""

from dataclasses import replace

import pytest

from ingest.detection.named_intervals import USUAL, Boundary, Event, Interval, Measured, Of, measure
from tests.ingest.detection.histories import nanoseconds, spans
from tests.ingest.detection.rounds import members, told
from tests.ingest.scenarios import Did

# One round of the dry run of the study: the fallback is saved, then the update prepared, before anybody may sync.
DRY_RUN = (
    Did("host-0", 0, "train", 0, 48), Did("host-0", 0, "prepare", 48, 66), Did("host-1", 0, "train", 0, 48),
    Did("host-1", 0, "prepare", 48, 70), Did("coordinator", 0, "aggregate", 70, 73),
    Did("coordinator", 0, "save", 73, 87.5), Did("coordinator", 0, "serialize", 88, 95),
    Did("coordinator", 0, "sync", 96, 97), Did("host-0", 0, "apply", 96.5, 108), Did("host-1", 0, "apply", 96.5, 110),
)  # fmt: skip
CHECKED = tuple(replace(interval, most_s=10.0) for interval in USUAL)


def measured(
    *phases: Did,
    index: int = 0,
    intervals: tuple[Interval, ...] = USUAL,
    errors_ns: dict[str, int] | None = None,
    events: tuple[Event, ...] = (),
) -> dict[str, Measured]:
    scenario = told(*phases)
    lanes = {who.name: lane for lane, who in enumerate(scenario.workers)}
    found = measure(spans(phases, lanes, errors_ns=errors_ns), members(scenario.workers), index, events, intervals)
    return {one.interval.name: one for one in found}


def test_the_time_from_aggregation_to_sync_opens_into_its_parts_and_what_is_not_instrumented() -> None:
    found = measured(*DRY_RUN)["aggregation to sync start"]

    assert found.length_ns == 23_000_000_000
    assert [(one.phase, one.gap, one.length_ns / 1e9) for one in found.parts] == [
        ("save", False, 14.5), ("serialize", True, 0.5), ("serialize", False, 7.0), ("", True, 1.0),
    ]  # fmt: skip
    beside = measured(*DRY_RUN, Did("host-0", 0, "report", 90, 95.9))["aggregation to sync start"]
    assert [(one.phase, one.length_ns) for one in beside.parts] == [(one.phase, one.length_ns) for one in found.parts]
    assert sum(one.length_ns for one in found.parts) == found.length_ns
    assert found.not_instrumented_ns == 1_500_000_000


def test_the_last_worker_decides_where_the_last_is_asked_for() -> None:
    found = measured(*DRY_RUN)["sync start to last synchronised"]

    assert found.length_ns == 14_000_000_000
    assert found.parts[-1].phase == "apply"
    fastest = Interval(name="fastest", begin=USUAL[1].begin, end=(Boundary(of=Of.END, name="apply", first=True),))
    assert measured(*DRY_RUN, intervals=(fastest,))["fastest"].length_ns == 12_000_000_000


def test_events_count_before_phases_of_other_names() -> None:
    events = (
        Event("aggregated", 2, 0, nanoseconds(73.5)), Event("sync start", 2, 0, nanoseconds(95.5)),
        Event("sync start", 2, 1, nanoseconds(90)), Event("synchronised", 0, 0, nanoseconds(109)),
        Event("synchronised", 1, 0, nanoseconds(111)), Event("something else", 1, 0, nanoseconds(1)),
    )  # fmt: skip

    found = measured(*DRY_RUN, events=events)

    assert found["aggregation to sync start"].length_ns == 22_000_000_000
    assert found["sync start to last synchronised"].length_ns == 15_500_000_000
    assert {name for one in USUAL for name in one.events} == {"aggregated", "sync start", "synchronised"}


def test_a_check_passes_fails_or_is_absent() -> None:
    assert [one.passed for one in measured(*DRY_RUN).values()] == [None, None]
    assert [one.passed for one in measured(*DRY_RUN, intervals=CHECKED).values()] == [False, False]
    quick = [Did("coordinator", 0, "aggregate", 70, 73), Did("coordinator", 0, "sync", 82.9, 83)]
    assert [one.passed for one in measured(*quick, intervals=CHECKED).values()] == [True]


def test_a_check_that_clock_errors_could_turn_has_no_answer() -> None:
    near = [Did("coordinator", 0, "sync", 0, 1), Did("host-0", 0, "apply", 2, 10.004)]

    (sure,) = measured(*near, intervals=CHECKED, errors_ns={"coordinator": 1_000_000, "host-0": 2_000_000}).values()
    (unsure,) = measured(*near, intervals=CHECKED, errors_ns={"coordinator": 2_000_001, "host-0": 2_000_000}).values()

    assert (sure.passed, unsure.passed) == (False, None)
    assert unsure.error_ns == 4_000_001


def test_what_cannot_be_measured_says_why() -> None:
    phases = [Did("coordinator", 0, "sync", 5, 6), Did("host-0", 0, "apply", 2, 4)]

    assert measured(*phases)["sync start to last synchronised"].abstained == "its end came before its begin"
    (near,) = measured(*phases, errors_ns={"coordinator": 600_000_000, "host-0": 600_000_000}).values()
    assert near.abstained == "shorter than the clocks can tell"
    (unknown,) = measured(*phases, errors_ns={"host-0": -1}).values()
    assert unknown.abstained == "the clock of one of the workers is unknown"
    assert (unknown.passed, unknown.begin_ns) == (None, -1)


@pytest.mark.parametrize("index", [1, -1])
def test_a_round_without_both_boundaries_has_no_such_interval(index: int) -> None:
    assert measured(*DRY_RUN, index=index) == {}
    assert list(measured(Did("coordinator", 0, "aggregate", 0, 1), index=index)) == []
