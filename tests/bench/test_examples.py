"""What counts as judged right, and that a real product judges a real fault of the example so."""

from typing import Any

import pytest

from tests.bench.example_faults import DYING, HEALTHY, KEPT, STARVED, Fault, judged
from tests.bench.examples import theatre


def finding(kind: str, worker: str, **more: Any) -> dict[str, Any]:
    plain = {"severity": "warning", "phase": "", "hypothesis": "", "evidence": {}}
    return {**plain, "kind": kind, "workers": [worker], **more}


SLOW = finding("slow_phase", "trainer-2", phase="encode", evidence={"causes": ["pressure", "throttled"]})
CYCLE = finding("reference_cycle", "coordinator")
LOST = finding("worker_lost", "trainer-3", evidence={"lost": [{"worker": "trainer-3", "reason": "killed"}]})


@pytest.mark.parametrize(("fault", "found"), [(STARVED, SLOW), (KEPT, CYCLE), (DYING, LOST)])
def test_kind_culprit_and_cause_make_it_right_whatever_is_said_with_severity_info(
    fault: Fault, found: dict[str, Any]
) -> None:
    listed = finding("work_on_path", "trainer-0", severity="info")
    assert judged(fault, [listed, found]).wrong == ()
    assert judged(fault, [listed]).wrong == (f"{fault.culprit} is not found",)


def test_whoever_else_is_blamed_makes_it_wrong() -> None:
    other = finding("straggler", "trainer-0", phase="encode")
    assert judged(STARVED, [SLOW, other]).wrong == ("trainer-0 is blamed",)
    assert judged(HEALTHY, [other]).wrong == ("trainer-0 is blamed",)
    assert judged(HEALTHY, [finding("run_stalled", "", workers=[])]).wrong == ("something is found",)


def test_another_phase_of_the_culprit_is_not_the_fault() -> None:
    assert judged(STARVED, [{**SLOW, "phase": "train"}]).wrong == ("trainer-2 is not found",)


def test_without_its_cause_it_is_wrong_unless_no_quota_could_have_been_the_cause() -> None:
    untold = {**SLOW, "evidence": {"causes": ["pressure"]}}
    assert judged(STARVED, [untold]).wrong == ("the cause is not named",)
    assert judged(STARVED, [untold], quota=False).wrong == ()
    untold = {**LOST, "evidence": {"lost": [{"worker": "trainer-3", "reason": None}]}}
    assert judged(DYING, [untold], quota=False).wrong == ("the cause is not named",)
    grows = finding("memory_growth", "coordinator", hypothesis="deltas is still held by a cycle: here.")
    assert judged(KEPT, [grows]).wrong == ()


@pytest.mark.alone  # whoever else is kept waiting is blamed
@pytest.mark.timeout(240)
def test_a_killed_trainer_is_judged_right_by_a_real_product() -> None:
    with theatre() as place:
        ran = place.play(DYING, DYING.rounds)
        assert place.judged(ran).wrong == ()
