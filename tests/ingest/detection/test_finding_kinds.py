"""What kinds of findings are called: each that detection gives has one name of its own."""

import importlib
import pkgutil
import re

import pytest

from ingest import detection
from ingest.detection.finding_kinds import NAMES, headline, name


def given() -> set[str]:
    """The kinds that modules of detection give, by their constants: KIND, or those of judges that give several."""
    found: set[str] = set()
    for module in pkgutil.walk_packages(detection.__path__, "ingest.detection."):
        told = vars(importlib.import_module(module.name))
        found |= {told[each] for each in ("KIND", "GROWTH", "RETAINED", "CYCLE") if isinstance(told.get(each), str)}
        if module.name == "ingest.detection.slow_phase.judge":
            found |= {told[each] for each in ("SLOW", "STALLED", "MISSING", "LOST", "RUN_STALLED")}
    return found


def test_every_kind_that_is_given_has_a_name_and_no_two_share_one() -> None:
    assert len(given()) >= 12
    assert given() <= set(NAMES)
    assert len(set(NAMES.values())) == len(NAMES)
    assert all(re.fullmatch(r"[a-z][a-z ]*:?", each) for each in NAMES.values())


@pytest.mark.parametrize(
    ("kind", "phase", "said"),
    [
        ("straggler", "encode", "slow encode"), ("straggler", "", "slow"),
        ("slow_phase", "encode", "runs long: encode"), ("slow_phase", "", "runs long"),
        ("interval_failed", "to sync", "check failed: to sync"), ("interval_failed", "", "check failed"),
        ("imbalance", "train", "imbalance in train"), ("imbalance", "", "imbalance"),
        ("worker_lost", "", "worker lost"), ("of_later", "", "of later"), ("straggler", "{0} in", "slow {0} in"),
    ],
)  # fmt: skip
def test_it_stands_before_its_phase_or_alone(kind: str, phase: str, said: str) -> None:
    assert headline(kind, phase) == said
    assert said.startswith(name(kind, phase))
