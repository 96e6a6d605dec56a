"""A finding is changed only by who has seen its newest version."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.db import connection

from ingest.detection.verdicts import Verdict, fingerprint
from ingest.models import Finding, Run
from ingest.store import findings
from tests.cast import Cast
from tests.ingest import scenarios
from tests.ingest.storing import Story

LASTING = Verdict(
    kind="straggler", fingerprint=fingerprint("straggler", since=None, phase="encode"), phase="encode",
    severity="warning", observed="slow", hypothesis="", workers=("rank-0",), rounds=(30, 31), marks=((0, 7, 0, 31),),
    opened_ns=1_790_000_000_000_000_000, resolved_ns=None,
)  # fmt: skip


@pytest.fixture
def run(cast: Cast) -> Run:
    story = Story(cast.team, scenarios.healthy(2, 1))
    story.tell()
    return story.run


@pytest.mark.django_db(transaction=True)
def test_judgements_at_the_same_time_make_one_finding_and_lose_no_change(run: Run) -> None:
    def put(number: int) -> int:
        try:
            told = replace(LASTING, observed=f"slow {number}")
            return len(findings.put_lasting(run, "straggler", 0, [told]))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        changes = sum(pool.map(put, range(24)))

    row = Finding.objects.get(run=run)
    assert changes == 24
    assert row.version == 23  # made once, then changed by each of the others


@pytest.mark.django_db
def test_what_was_said_of_rounds_that_are_no_longer_looked_at_stays(run: Run) -> None:
    findings.put_lasting(run, "straggler", 0, [LASTING])
    later = replace(LASTING, rounds=(60, 61), marks=((0, 9, 0, 61),), opened_ns=LASTING.opened_ns + 10**12)

    (row,) = findings.put_lasting(run, "straggler", 50, [later])

    assert row.rounds == [30, 31, 60, 61]
    assert row.spans == [[0, 7, 0, 31], [0, 9, 0, 61]]
    assert row.opened_at.timestamp() == LASTING.opened_ns / 1e9


@pytest.mark.django_db
def test_an_incident_that_names_no_rounds_opened_when_it_first_did(run: Run) -> None:
    fact = replace(LASTING, kind="imbalance", fingerprint="imbalance:train", rounds=(), marks=())
    findings.put_lasting(run, "imbalance", 0, [fact])

    changed = findings.put_lasting(run, "imbalance", 20, [replace(fact, opened_ns=fact.opened_ns + 10**12)])

    assert changed == []  # nor is anybody told of it anew
    assert Finding.objects.get(run=run).opened_at.timestamp() == fact.opened_ns / 1e9


@pytest.mark.django_db
def test_an_incident_that_is_not_told_of_any_more_is_over(run: Run) -> None:
    findings.put_lasting(run, "straggler", 0, [LASTING])

    (row,) = findings.put_lasting(run, "straggler", 50, [])

    assert row.state == "resolved"
    assert row.resolved_at is not None
    assert findings.put_lasting(run, "straggler", 50, []) == []


@pytest.mark.django_db
def test_an_incident_that_comes_back_after_its_end_opens_again_later(run: Run) -> None:
    findings.put_lasting(run, "straggler", 0, [replace(LASTING, resolved_ns=LASTING.opened_ns + 10**10)])
    again = replace(LASTING, rounds=(90, 91), opened_ns=LASTING.opened_ns + 10**12)

    (row,) = findings.put_lasting(run, "straggler", 50, [again])

    assert (row.state, row.resolved_at) == ("open", None)
    assert row.opened_at.timestamp() == again.opened_ns / 1e9
    assert Finding.objects.filter(run=run).count() == 1
