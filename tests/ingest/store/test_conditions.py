"""What hosts say of themselves at their begin is kept apart, attempt by attempt."""

import time
from typing import Any

import pytest

from ingest.models import Conditions, Run, Stream
from ingest.queries.conditions import told
from ingest.store import deletion
from tests.cast import Cast
from tests.ingest.batches import SECOND, Recorder
from tests.ingest.delivery import deliver

pytestmark = pytest.mark.django_db


def attempt(cast: Cast, worker: str, ago_s: int = 60, **conditions: Any) -> Recorder:
    """An attempt that begins with these conditions, on a machine of its worker's own."""
    began_ns = time.time_ns() - ago_s * SECOND
    recorder = Recorder(worker, began_ns=began_ns, machine=f"machine of {worker}").begin(conditions=conditions)
    deliver(cast.team.id, recorder.batch())
    return recorder


def test_hosts_that_differ_do_not_overwrite_each_other(cast: Cast) -> None:
    attempt(cast, "trainer-0", cpus=32, torch="2.9")
    attempt(cast, "trainer-1", cpus=6, torch="2.9")
    said = told(Run.objects.get())
    assert [(each.worker, each.machine, each.facts["cpus"]) for each in said] == [
        ("trainer-0", "machine of trainer-0", 32), ("trainer-1", "machine of trainer-1", 6),
    ]  # fmt: skip


def test_a_restart_keeps_what_the_attempt_before_it_said(cast: Cast) -> None:
    attempt(cast, "trainer-0", 60, driver="550")
    attempt(cast, "trainer-0", 30, driver="560")
    said = told(Run.objects.get())
    assert [(each.attempt, each.newest, each.facts["driver"]) for each in said] == [(0, False, "550"), (1, True, "560")]


def test_what_is_so_of_an_attempt_alone_is_kept_beside_its_conditions_and_decides_nothing(cast: Cast) -> None:
    recorder = Recorder("trainer-0", began_ns=time.time_ns() - 60 * SECOND)
    recorder.begin(conditions={"cpus": 4}, attempt={"job_start_unix_s": 1764460800})
    deliver(cast.team.id, recorder.batch())
    assert [each.facts for each in told(Run.objects.get())] == [{"cpus": 4, "job_start_unix_s": 1764460800}]
    assert Run.objects.get().conditions == {"cpus": 4}


def test_a_begin_that_comes_twice_is_kept_once_and_one_that_says_nothing_is_not(cast: Cast) -> None:
    recorder = Recorder("trainer-0", began_ns=time.time_ns() - 60 * SECOND).begin(conditions={"cpus": 4})
    batch = recorder.batch()
    for _ in range(2):
        deliver(cast.team.id, batch)
    attempt(cast, "trainer-1")
    assert [each.facts for each in told(Run.objects.get())] == [{"cpus": 4}]


def test_a_deleted_run_leaves_no_conditions_behind(cast: Cast) -> None:
    attempt(cast, "trainer-0", cpus=32)
    assert deletion.begin(Run.objects.get().pk)
    assert Stream.objects.get().deleted
    assert not Conditions.objects.exists()
