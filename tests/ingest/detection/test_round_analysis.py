"""The analysis of a round as it is kept: names instead of lanes, everything adds up, and it stays small."""

import json

import numpy as np
import pytest

from ingest.detection.critical_path import Segment
from ingest.detection.facts import Kind
from ingest.detection.gpu_waiting import Share
from ingest.detection.round_analysis import SEVERAL, Given, abridged, fewer, told
from tests.ingest import scenarios
from tests.ingest.detection.histories import nanoseconds, spans
from tests.ingest.detection.rounds import members
from tests.ingest.scenarios import Scenario


def given(scenario: Scenario, index: int) -> Given:
    lanes = {who.name: lane for lane, who in enumerate(scenario.workers)}
    begin, end = scenario.rounds[index]
    return Given(
        index=index, begin_ns=nanoseconds(begin), end_ns=nanoseconds(end), workers=members(scenario.workers),
        trainers=np.array([lanes[who.name] for who in scenario.workers if who.role == "trainer"]),
        spans=spans(scenario.phases, lanes),
    )  # fmt: skip


def segments(*lengths: int) -> tuple[Segment, ...]:
    ends = np.cumsum(lengths).tolist()
    return tuple(
        Segment(lane=at % 3, span=at, phase=f"p{at}", kind=0, begin_ns=end - length, end_ns=end, gap=at % 5 == 0)
        for at, (length, end) in enumerate(zip(lengths, ends, strict=True))
    )


def test_an_analysis_adds_up_and_is_json() -> None:
    found = told(given(scenarios.two_slow_encoders(), 1))

    assert json.loads(json.dumps(found)) == found
    assert sum(one["end_ns"] - one["begin_ns"] for one in found["path"]) == found["end_ns"] - found["begin_ns"]
    assert sum(one["own_ns"] + one["others_ns"] for one in found["waiting"]) == found["waiting_ns"]
    assert found["waiting_ns"] / found["trainers"] == 35e9
    assert found["what_if"]["joint"]["items"][0] == {"worker": "rank-7", "phase": "encode"}
    assert len(json.dumps(found)) < 20_000


def test_of_a_long_path_the_longest_stay_and_the_rest_is_told_together() -> None:
    path = segments(*([1, 2, 3] * 20 + [100] + [2] * 30 + [90, 80, 70]))

    kept = abridged(path, 8)

    assert len(kept) <= 9
    assert [one.length_ns for one in kept if one.phase != SEVERAL] == [100, 90, 80]
    assert sum(one.length_ns for one in kept) == sum(one.length_ns for one in path)
    assert [one.begin_ns for one in kept[1:]] == [one.end_ns for one in kept[:-1]]
    assert all(one.kind == Kind.OTHER and not one.gap for one in kept if one.phase == SEVERAL)
    assert abridged(path, len(path)) == path


def test_a_path_of_equal_segments_stays_small_and_whole() -> None:
    kept = abridged(segments(*[5] * 5000), 500)

    assert len(kept) == 1
    assert kept[0].length_ns == 25_000


@pytest.mark.parametrize("most", [6, 40])
def test_of_many_shares_the_greatest_stay_and_the_rest_is_one_for_each_phase(most: int) -> None:
    shares = tuple(
        Share(lane=at, phase=f"phase-{at % 30}", kind=0, gap=False, own_ns=at, others_ns=2 * at) for at in range(200)
    )

    kept = fewer(shares, most)

    assert len(kept) <= most + 1
    assert sum(one.total_ns for one in kept) == sum(one.total_ns for one in shares)
    assert [one.lane for one in kept if one.lane >= 0] == list(range(201 - most // 2, 200))
    assert all((one.kind == Kind.OTHER) is (one.phase == SEVERAL) for one in kept)
    assert fewer(shares, 200) == shares
