"""Training health: what is not finite or explodes is found while the infrastructure looks normal, and nothing else."""

import math

import numpy as np
import pytest

from ingest.detection.training_health import Series, exploding, judge


def series(*values: float, metric: str = "grad_norm", worker: str = "rank-0") -> Series:
    return Series(worker=worker, metric=metric, time_ns=np.arange(len(values)) * 10**9, value=np.array(values, float))


CALM = [1.0, 1.2, 0.9, 1.1] * 5


def test_an_exploding_gradient_is_found_beside_an_infrastructure_that_looks_normal() -> None:
    verdict, why = judge([series(*CALM, 12.0, 40.0), series(*CALM, metric="loss")])

    assert verdict is not None
    assert why == ""
    assert verdict.severity == "warning"
    assert verdict.observed == "grad_norm is 40, 36 times its usual 1.1 on rank-0."
    assert verdict.hypothesis == "The infrastructure looks normal."
    assert verdict.opened_ns == len(CALM) * 10**9


@pytest.mark.parametrize(
    ("value", "says"), [(math.nan, "not a number"), (math.inf, "infinite"), (-math.inf, "infinite")]
)
def test_what_is_not_finite_is_critical_from_the_first_value_on(value: float, says: str) -> None:
    verdict, _ = judge([series(value, metric="loss")])

    assert verdict is not None
    assert (verdict.severity, verdict.observed) == ("critical", f"loss is {says} on rank-0.")


def test_what_else_is_open_is_named_instead_of_calling_the_rest_normal() -> None:
    verdict, _ = judge([series(math.nan, metric="loss")], disturbed=["straggler in encode"])

    assert verdict is not None
    assert verdict.hypothesis == "Open beside it: straggler in encode."


def test_an_infrastructure_of_which_nothing_is_read_is_not_called_normal() -> None:
    verdict, _ = judge([series(math.nan, metric="loss")], sampled=False)

    assert verdict is not None
    assert verdict.hypothesis == ""


def test_workers_are_told_of_together() -> None:
    found = [series(*CALM, math.nan, worker=f"rank-{rank}", metric="loss") for rank in range(3)]

    verdict, _ = judge([*found, series(*CALM, worker="rank-3", metric="loss")])

    assert verdict is not None
    assert verdict.workers == ("rank-0", "rank-1", "rank-2")
    assert verdict.observed == "loss is not a number on rank-0 (and on 2 others)."


def test_what_is_over_is_no_longer_bad() -> None:
    assert judge([series(*CALM, 40.0, 1.0)]) == (None, "")
    assert judge([series(1.0, math.nan, 1.0, metric="loss")]) == (None, "")


def test_ten_times_the_usual_is_the_bound_and_takes_ten_values_to_know() -> None:
    assert exploding(np.array([1.0] * 10 + [10.0])).tolist()[-1] is False
    assert exploding(np.array([1.0] * 10 + [10.1])).tolist()[-1] is True
    assert exploding(np.array([1.0] * 9 + [50.0])).tolist()[-1] is False
    # What is not finite is none of them.
    assert exploding(np.array([1.0] * 9 + [math.nan, 1.0, 50.0])).tolist()[-1] is True
    # A loss may be any number.
    assert judge([series(*CALM, 400.0, metric="loss")]) == (None, "")


def test_a_level_that_lasts_becomes_the_usual_one() -> None:
    assert exploding(np.array([1.0] * 50 + [12.0] * 60)).nonzero()[0].tolist() == list(range(50, 75))
    assert judge([series(*[1.0] * 50, *[12.0] * 25)])[0] is not None
    assert judge([series(*[1.0] * 50, *[12.0] * 30)]) == (None, "")


def test_what_a_value_is_told_beside_is_what_called_it_exploding() -> None:
    verdict, _ = judge([series(*[1.0] * 20, *[2.0] * 20, 100.0, 100.0, 100.0)])

    assert verdict is not None
    assert verdict.observed == "grad_norm is 100, 50 times its usual 2 on rank-0."


def test_a_run_that_logs_neither_says_so() -> None:
    assert judge([series(*CALM, metric="accuracy")]) == (None, "neither a loss nor a gradient norm is logged")
    assert judge([series(metric="loss")]) == (None, "neither a loss nor a gradient norm is logged")
