"""What a team and a run have set becomes the policies that judge, and findings say so."""

import math
import re
from dataclasses import fields

import numpy as np
import pytest

from ingest.detection import imbalance, memory, regression, straggler, training_health, utilisation_trap, work_on_path
from ingest.detection.slow_phase.judge import LOST, MISSING, RUN_STALLED, SLOW, STALLED
from ingest.detection.slow_phase.limits import limits
from ingest.detection.thresholds import BY_KEY, DEFAULT, SUBJECTS, Threshold, Thresholds, of
from tests.ingest import scenarios
from tests.ingest.detection.histories import history

# What must not exceed the other, whatever is set for both.
AT_LEAST_AND_AT_MOST = [
    ("straggler.floor_least_s", "straggler.floor_most_s"), ("slow_phase.slow_least_s", "slow_phase.slow_most_s"),
]  # fmt: skip


@pytest.mark.parametrize("threshold", BY_KEY.values(), ids=lambda one: one.key)
def test_each_has_its_default_from_its_policy_within_its_bounds(threshold: Threshold) -> None:
    policy = getattr(DEFAULT, threshold.subject)
    assert threshold.in_policy(threshold.usual) == pytest.approx(getattr(policy, threshold.field))
    assert threshold.allows(threshold.usual)
    assert threshold.meaning.endswith(".")
    for value in (threshold.least, threshold.most):
        (changed,) = of({threshold.key: value}, {}).set_ or (None,)
        assert (changed is None) == (value == threshold.usual)
    for value in (threshold.most * 1.01, threshold.least - abs(threshold.least) / 100, math.nan, math.inf, -1.0):
        assert not threshold.allows(value)
        assert of({threshold.key: value}, {threshold.key: value}) is DEFAULT


@pytest.mark.parametrize("threshold", BY_KEY.values(), ids=lambda one: one.key)
def test_what_each_means_is_said_in_sentences_that_lean_on_no_line_above(threshold: Threshold) -> None:
    first = threshold.meaning.split()[0]
    assert first not in {"And", "Or", "Of", "In", "By", "From", "For", "So", "Share", "Utilisation"}
    assert not re.search(r"\b(the same|so (many|much|far|long|soon))\b", threshold.meaning, re.IGNORECASE)


def test_amber_beyond_slow_has_no_effect_and_the_threshold_says_so() -> None:
    policies = (of({"slow_phase.suspect_s": value}, {}).slow_phase for value in (0.5, 3.0, 600.0))
    found = [limits(np.array([0.1] * 8), 9, None, 5.0, policy) for policy in policies]
    assert [one.suspect_s for one in found] == pytest.approx([0.6, 1.1, 1.1])
    assert [one.slow_s for one in found] == pytest.approx([1.1] * 3)
    assert "has no effect" in BY_KEY["slow_phase.suspect_s"].meaning


def test_none_is_listed_twice_and_every_subject_is_judged_by() -> None:
    assert len(BY_KEY) == sum(len(subject.thresholds) for subject in SUBJECTS)
    assert {subject.key for subject in SUBJECTS} == {field.name for field in fields(Thresholds)} - {"set_", "words"}


def test_each_decides_what_some_rule_says_but_for_the_colour_of_a_bar() -> None:
    said = {
        imbalance.KIND, regression.KIND, straggler.KIND, training_health.KIND, utilisation_trap.KIND, work_on_path.KIND,
        memory.GROWTH, memory.RETAINED, memory.CYCLE, SLOW, STALLED, MISSING, LOST, RUN_STALLED,
    }  # fmt: skip
    assert {kind for one in BY_KEY.values() for kind in one.kinds} == said
    assert [one.key for one in BY_KEY.values() if not one.kinds] == ["slow_phase.suspect_s"]


@pytest.mark.parametrize(("least", "most"), AT_LEAST_AND_AT_MOST)
def test_nothing_that_may_be_set_contradicts_another(least: str, most: str) -> None:
    lower, upper = BY_KEY[least], BY_KEY[most]
    assert lower.in_policy(lower.most) <= upper.in_policy(upper.least)


def test_a_run_says_more_than_its_team_and_what_is_unknown_says_nothing() -> None:
    team = {"straggler.ratio": 2.0, "memory.slope_least_bytes": 64.0, "no.such": 1.0}
    found = of(team, {"straggler.ratio": 4.0, "straggler.clean_rounds": 2.5})
    assert (found.straggler.ratio, found.straggler.clean_rounds) == (4.0, 3)
    assert found.memory.slope_least_bytes == 64 * (1 << 20)
    assert [(one.threshold.key, one.source) for one in found.set_] == [
        ("straggler.ratio", "run"), ("memory.slope_least_bytes", "team"),
    ]  # fmt: skip


def test_a_run_may_go_back_to_what_its_team_has_changed() -> None:
    found = of({"straggler.ratio": 2.0}, {"straggler.ratio": 1.5})
    assert found == DEFAULT


def test_a_verdict_says_which_thresholds_of_its_kind_are_not_the_default() -> None:
    found = of({"memory.tau": 0.9, "straggler.ratio": 3.0}, {})
    judged = straggler.judge(history(scenarios.two_slow_encoders()), found.straggler)
    (verdict,) = found.said(judged.once)
    assert verdict.evidence["ratio_needed"] == 3.0
    (told,) = verdict.evidence["thresholds"]
    assert told["words"] == "Ratio in one round: 3 ×, set for the team; the default is 1.5 ×"
    assert "thresholds" not in DEFAULT.said(judged.once)[0].evidence


def test_a_greater_ratio_names_fewer() -> None:
    told = history(scenarios.two_slow_encoders(9))
    assert straggler.judge(told, of({}, {"straggler.ratio": 20.0}).straggler).once == ()
    assert straggler.judge(told, of({}, {"straggler.ratio": 5.0}).straggler).once
