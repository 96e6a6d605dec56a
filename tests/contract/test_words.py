"""Which runs speak of steps and ranks: the server and the live page decide alike (tests/js/words.test.mjs)."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.detection.data_parallel import words_of
from ingest.detection.wording import STEPS
from ingest.models import PhaseName
from ingest.queries.run_words import of_run
from roundwatch.wire import KINDS
from tests.cast import make_cast
from tests.dashboard.runs_of import add_workers, make_run

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "golden/words.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_the_server_decides_by_roles_and_phases(case: dict[str, Any]) -> None:
    phases = [(name, KINDS.index(kind)) for name, kind in case["phases"]]
    words = words_of(case["roles"], phases)
    assert (words.round, words.worker) == (case["round"], case["worker"])


@pytest.mark.django_db
def test_it_reads_them_of_the_run() -> None:
    cast = make_cast()
    run, other = make_run(cast.team), make_run(cast.team)
    add_workers(run, ["a", "b"])
    add_workers(other, ["a"])
    PhaseName.objects.create(run=run, index=0, name="allreduce", kind=KINDS.index("transfer"))
    assert of_run(run.pk) == STEPS
    assert of_run(other.pk).round == "round"
    run.workers.filter(name="host-00").update(role="coordinator")
    assert of_run(run.pk).round == "round"


def test_our_texts_are_said_in_them_and_words_that_only_hold_one_stay() -> None:
    text = "Rounds of a worker's round, in the background around workers. Workers."
    assert STEPS.said(text) == "Steps of a rank's step, in the background around ranks. Ranks."
