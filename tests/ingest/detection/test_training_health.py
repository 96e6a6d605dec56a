"""Training health: what is not finite or explodes is found while the infrastructure looks normal, and nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ingest.detection.training_health import Series, exploding, judge


def series(*values: float, metric: str = "grad_norm", worker: str = "rank-0") -> Series:
    return Series(worker=worker, metric=metric, time_ns=np.arange(len(values)) * 10**9, value=np.array(values, float))


def explodes(*values: float) -> list[bool]:
    return exploding(np.array(values, float))[0].tolist()


CALM = [1.0, 1.2, 0.9, 1.1] * 5


def test_an_exploding_gradient_is_found_beside_an_infrastructure_that_looks_normal() -> None:
    verdict, why = judge([series(*CALM, 12.0, 40.0), series(*CALM, metric="loss")])

    assert verdict is not None
    assert why == ""
    assert verdict.severity == "warning"
    assert verdict.observed == "grad_norm is 40, 38 times its usual 1.05 on rank-0."
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
    verdict, _ = judge([series(math.nan, metric="loss")], disturbed=["slow encode"])

    assert verdict is not None
    assert verdict.hypothesis == "Open beside it: slow encode."


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
    assert explodes(*[1.0] * 10, 10.0)[-1] is False
    assert explodes(*[1.0] * 10, 10.1)[-1] is True
    assert explodes(*[1.0] * 9, 50.0)[-1] is False
    # What is not finite is none of them.
    assert explodes(*[1.0] * 9, math.nan, 1.0, 50.0)[-1] is True
    # A loss may be any number.
    assert judge([series(*CALM, 400.0, metric="loss")]) == (None, "")


def test_an_incident_is_not_over_for_having_lasted() -> None:
    assert explodes(*[1.0] * 50, *[12.0] * 600) == [False] * 50 + [True] * 600
    verdict, _ = judge([series(*[1.0] * 12, *[12.0] * 600)])
    assert verdict is not None
    assert verdict.observed == "grad_norm is 12, 12 times its usual 1 on rank-0."


def test_it_goes_on_where_nothing_of_the_time_before_is_read_any_more() -> None:
    verdict, _ = judge([series(*[1.0] * 50, *[12.0] * 30)])
    assert verdict is not None
    (usual,) = verdict.evidence["usual"]
    assert usual == {"worker": "rank-0", "metric": "grad_norm", "value": 1.0}

    later = replace(series(*[12.0] * 80), usual=usual["value"])
    again, _ = judge([later])
    assert again is not None
    assert again.observed == verdict.observed
    # What is back to what it was is over, and what was found is not learned from then either.
    assert judge([replace(series(*[12.0] * 79, 1.1), usual=1.0)]) == (None, "")
    assert judge([replace(series(*[12.0] * 70, *[1.1] * 9, 12.0), usual=1.0)])[0] is not None


def test_what_a_value_is_told_beside_is_what_called_it_exploding() -> None:
    verdict, _ = judge([series(*[1.0] * 20, *[2.0] * 20, 100.0, 100.0, 100.0)])

    assert verdict is not None
    assert verdict.observed == "grad_norm is 100, 67 times its usual 1.5 on rank-0."


def test_a_run_that_logs_neither_says_so() -> None:
    assert judge([series(*CALM, metric="accuracy")]) == (None, "neither a loss nor a gradient norm is logged")
    assert judge([series(metric="loss")]) == (None, "neither a loss nor a gradient norm is logged")
