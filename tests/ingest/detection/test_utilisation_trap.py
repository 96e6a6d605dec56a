"""The utilisation trap: busy devices that compute little, for three windows, and nothing where readings are missing."""

import math

import numpy as np
import pytest

from ingest.detection.facts import Window, Worker
from ingest.detection.utilisation_trap import Readings, judge, sustained
from ingest.detection.verdicts import Verdict

WORKERS = tuple(Worker(lane=lane, name=f"rank-{lane}") for lane in range(2))


def judged(
    utilisation: list[tuple[float, float]],
    lost: list[tuple[float, float]] | None = None,
    mfu: list[tuple[float, float]] | None = None,
) -> tuple[Verdict | None, str]:
    nothing = [(math.nan, math.nan)] * len(utilisation)
    windows = tuple(Window(rounds=(at,), end_ns=(at + 1) * 10**10, round_s=10) for at in range(len(utilisation)))
    readings = Readings(
        utilisation=np.array(utilisation), lost=np.array(lost or nothing), mfu=np.array(mfu or nothing)
    )  # fmt: skip
    return judge(windows, WORKERS, readings)


def test_87_percent_utilised_and_19_percent_computing_is_a_trap() -> None:
    verdict, why = judged([(0.87, 0.5)] * 4, lost=[(0.1, 0.81)] + [(0.81, 0.81)] * 3)

    assert verdict is not None
    assert why == ""
    assert verdict.workers == ("rank-0",)
    assert verdict.rounds == (1, 2, 3)
    assert verdict.opened_ns == 2 * 10**10
    assert verdict.observed.startswith("Devices are 87% utilised, but 81% of the step")
    assert verdict.severity == "warning"


def test_less_than_three_windows_in_a_row_are_none() -> None:
    assert judged([(0.9, 0.9)] * 2, lost=[(0.9, 0.9)] * 2) == (None, "fewer than 3 windows yet")
    assert judged([(0.9, 0.9)] * 3, lost=[(0.9, 0.2), (0.2, 0.9), (0.9, 0.9)]) == (None, "")


@pytest.mark.parametrize(("utilisation", "lost"), [(0.79, 0.9), (0.9, 0.30)])
def test_below_either_threshold_there_is_none(utilisation: float, lost: float) -> None:
    assert judged([(utilisation, utilisation)] * 3, lost=[(lost, lost)] * 3) == (None, "")


def test_useful_work_is_measured_by_the_runs_own_best_sustained() -> None:
    mfu = [(0.4, 0.4)] * 3 + [(0.27, 0.4)] * 3

    verdict, _ = judged([(0.9, 0.9)] * 6, mfu=mfu)

    assert verdict is not None
    assert verdict.workers == ("rank-0",)
    assert "MFU is 27% of a best of 40%" in verdict.observed
    assert judged([(0.9, 0.9)] * 6, mfu=[(0.4, 0.4)] * 3 + [(0.29, 0.4)] * 3)[0] is None
    assert sustained(np.array([[0.9], [0.4], [0.4], [0.5]]), 3) == 0.4


def test_what_was_not_sampled_says_nothing_and_says_so() -> None:
    assert judged([(math.nan, math.nan)] * 3, lost=[(0.9, 0.9)] * 3) == (None, "no device utilisation was sampled")
    assert judged([(0.9, 0.9)] * 3) == (None, "")
    assert judged([(0.9, math.nan)] * 3, lost=[(0.9, 0.9)] * 3)[0].workers == ("rank-0",)  # type: ignore[union-attr]
    assert math.isnan(sustained(np.full((4, 2), math.nan), 3))
