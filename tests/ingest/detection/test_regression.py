"""A regression: worse than each of the project's own runs by more than they vary; few runs tell nothing."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.detection.regression import DEFAULT, KIND, Compared, Policy, RunFigures, judge

GIB = float(1 << 30)
USUAL = (10.0, 10.4, 9.8, 10.1, 10.3, 9.9)
WALLS = st.lists(st.floats(0.01, 1000), min_size=5, max_size=12)


def figures(name: str, **more: Any) -> RunFigures:
    return RunFigures(**{"run": name, "name": name, "rounds": 20} | more)


def beside(own: dict[str, Any], earlier: list[dict[str, Any]], **more: Any) -> Compared:
    runs = tuple(figures(f"run-{at}", **one) for at, one in enumerate(earlier))
    return Compared(own=figures("own", **own), earlier=runs, group="8 × A40", since_ns=7, **more)


def walls(own: float, earlier: Any = USUAL, **more: Any) -> Compared:
    return beside({"round_s": own}, [{"round_s": one} for one in earlier], **more)


def test_rounds_that_take_longer_than_in_any_run_before_are_told_with_those_runs() -> None:
    (verdict,) = judge(walls(13.0, changed=("batch: 32 → 64",)))

    assert (verdict.kind, verdict.severity, verdict.fingerprint, verdict.opened_ns) == (
        KIND, "warning", "regression:round_s", 7,
    )  # fmt: skip
    assert verdict.observed == (
        "The median round takes 13.0 s, 1.29 times the 10.1 s of the last 6 comparable runs of this project "
        "(8 × A40), which took 9.8 s to 10.4 s."
    )
    assert verdict.hypothesis == "Configured otherwise than in run-5, the newest comparable run: batch: 32 → 64."
    assert [one["value"] for one in verdict.evidence["runs"]] == list(USUAL)


def test_gpus_that_wait_for_more_of_the_round_are_told_in_percentage_points() -> None:
    earlier = [{"waiting_share": one} for one in (0.20, 0.22, 0.21, 0.19, 0.20)]
    (verdict,) = judge(beside({"waiting_share": 0.35}, earlier))

    assert verdict.fingerprint == "regression:waiting_share"
    assert verdict.observed.startswith(
        "GPUs wait for 35 % of the median round, 15 percentage points more than the 20 % of the last 5"
    )
    assert judge(beside({"waiting_share": 0.24}, earlier)) == ()


def test_gpus_that_never_waited_before_are_compared_too() -> None:
    (verdict,) = judge(beside({"waiting_share": 0.3}, [{"waiting_share": 0.0}] * 5))
    assert verdict.evidence["ratio"] is None


def test_memory_names_who_held_it_in_copies_of_the_model() -> None:
    earlier = [{"memory_peak_bytes": one * GIB} for one in (10.0, 10.1, 10.2, 9.9, 10.0)]
    (verdict,) = judge(beside({"memory_peak_bytes": 34.4 * GIB}, earlier, worker="coordinator", copy_bytes=2.5 * GIB))

    assert verdict.workers == ("coordinator",)
    assert "coordinator's memory peaked at 34.4 GiB (13.8 model copies), 3.44 times the 10.0 GiB" in verdict.observed


def test_little_memory_is_no_regression_however_much_more_it_is() -> None:
    mib = float(1 << 20)
    assert judge(beside({"memory_peak_bytes": 200 * mib}, [{"memory_peak_bytes": 50 * mib}] * 6)) == ()


@pytest.mark.parametrize(
    "compared",
    [
        walls(13.0, USUAL[:4]),
        walls(11.5),
        walls(13.0, (*USUAL, 14.0)),
        walls(13.0, (6.0, 14.9, 10.0, 8.0, 12.0, 7.0)),
        replace(walls(13.0), own=figures("own", round_s=13.0, rounds=4)),
        beside({"round_s": 13.0}, [{"round_s": one, "rounds": 4} for one in USUAL]),
        beside({"round_s": None}, [{"round_s": one} for one in USUAL]),
        beside({"round_s": 13.0}, [{"round_s": None} for _ in USUAL]),
        walls(float("nan")),
    ],
    ids=["few runs", "little", "one was slower", "runs vary", "few rounds", "runs of few rounds", "unknown",
         "unknown before", "not a number"],
)  # fmt: skip
def test_what_is_unknown_small_or_usual_is_none(compared: Compared) -> None:
    assert judge(compared) == ()


def test_the_newest_runs_are_what_is_usual() -> None:
    assert judge(walls(10.0, [5.0] * 6 + list(USUAL) + [10.0] * 4)) == ()
    assert len(judge(walls(13.0, [20.0] * 6 + list(USUAL) + [10.0] * 4))) == 1


def test_thresholds_decide() -> None:
    assert judge(walls(13.0), Policy(ratio=1.5)) == judge(walls(13.0), Policy(z=20)) == ()
    assert judge(walls(13.0), Policy(least_runs=7)) == ()
    assert len(judge(walls(11.5), Policy(ratio=1.1))) == 1


@given(WALLS, st.floats(0.01, 1000))
def test_nothing_is_told_of_a_run_that_is_no_slower_than_another_was(earlier: list[float], own: float) -> None:
    if own <= max(earlier[-DEFAULT.most_runs :]):
        assert judge(walls(own, earlier)) == ()


@given(WALLS, st.floats(1, 100), st.floats(1.01, 10))
def test_what_is_slower_still_is_told_as_well(earlier: list[float], times: float, more: float) -> None:
    own = times * max(earlier)
    assert not judge(walls(own, earlier)) or judge(walls(more * own, earlier))


@given(WALLS, st.floats(0.1, 100), st.floats(0.5, 4))
def test_the_unit_of_time_changes_nothing(earlier: list[float], unit: float, times: float) -> None:
    own = times * max(earlier)
    found = judge(walls(own, earlier))
    scaled = judge(walls(unit * own, [unit * one for one in earlier]))
    clearly = [
        one for one in found if one.evidence["z"] > 1.01 * DEFAULT.z and one.evidence["ratio"] > 1.01 * DEFAULT.ratio
    ]
    assert len(scaled) >= len(clearly)
    if clearly:
        assert scaled[0].evidence["z"] == pytest.approx(found[0].evidence["z"], abs=0.02)


@given(st.floats(0.01, 1000), st.integers(5, 10))
def test_runs_that_repeat_each_other_exactly_are_worse_from_a_fifth_on(usual: float, count: int) -> None:
    assert judge(walls(1.19 * usual, [usual] * count)) == ()
    assert len(judge(walls(1.21 * usual, [usual] * count))) == 1
