"""What a message says in its one line."""

import pytest

from dashboard.alerts import message
from dashboard.alerts.told import Told
from ingest.models.outbox import Happened


def test_all_that_the_outbox_says_can_be_told() -> None:
    assert set(Happened.choices) <= set(Told.choices)


@pytest.mark.parametrize(
    ("kind", "phase", "said"),
    [
        ("interval_failed", "to sync", "check failed: to sync on host-07 · vit-b16"),
        ("interval_failed", "", "check failed on host-07 · vit-b16"),
        ("straggler", "encode", "slow encode on host-07 · vit-b16"),
        ("worker_lost", "", "worker lost on host-07 · vit-b16"),
    ],
)
def test_a_title_has_no_colon_where_no_phase_follows(kind: str, phase: str, said: str) -> None:
    told = {"happened": "opened", "kind": kind, "phase": phase, "workers": ["host-07"], "run": {"name": "vit-b16"}}
    assert message.title(told) == said
