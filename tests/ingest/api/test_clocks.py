"""A server's clock that is set back: what shippers send before they know of it is stored, and its order kept."""

import time

import pytest

from ingest.api import check
from ingest.api.examination import AHEAD_NS
from ingest.models import Phase, Quarantine, Stream
from ingest.store import telemetry
from roundwatch import wire
from tests.cast import Cast
from tests.ingest.batches import SECOND, Recorder

pytestmark = pytest.mark.django_db
HOUR = 3600 * SECOND


def deliver_from(cast: Cast, machine: str, batch: wire.Batch, *, sent_ns: int, arrived_ns: int) -> None:
    """As a shipper of that machine would, whose monotonic clock said `sent_ns`."""
    sent = wire.Request(t1_ns=sent_ns, wall_ns=arrived_ns, machine=machine, batches=[batch])
    telemetry.write([check.job(cast.team.id, sent, arrived_ns)])


def a_second_of(worker: Recorder, offset_ns: int) -> wire.Batch:
    """What was recorded between 9 s and 10 s of the host's monotonic clock."""
    return worker.phase("train", 9 * SECOND, 10 * SECOND).batch(offset_ns=offset_ns)


def test_what_was_mapped_to_a_clock_that_has_been_set_back_is_stored_by_when_it_arrived(cast: Cast) -> None:
    now, worker = time.time_ns(), Recorder("w")
    batch = a_second_of(worker, now + HOUR - 10 * SECOND)
    deliver_from(cast, "machine-1", batch, sent_ns=10 * SECOND, arrived_ns=now)
    phase = Phase.objects.get()
    assert (phase.begin_ns, phase.end_ns, phase.error_ns) == (now - SECOND, now, None)
    assert not Quarantine.objects.exists()


@pytest.mark.parametrize("ahead", [-HOUR, 0, AHEAD_NS])
def test_an_offset_that_may_be_right_is_kept(cast: Cast, ahead: int) -> None:
    now, worker = time.time_ns(), Recorder("w")
    batch = a_second_of(worker, now + ahead - 10 * SECOND)
    deliver_from(cast, "machine-1", batch, sent_ns=10 * SECOND, arrived_ns=now)
    phase = Phase.objects.get()
    assert (phase.end_ns, phase.error_ns) == (now + ahead, 1000)


def test_the_offset_of_another_boot_is_not_judged_by_when_it_is_sent(cast: Cast) -> None:
    now, worker = time.time_ns(), Recorder("w")
    batch = a_second_of(worker, now + HOUR - 10 * SECOND)
    deliver_from(cast, "machine-2", batch, sent_ns=10 * SECOND, arrived_ns=now)
    assert Quarantine.objects.count() == 1


def test_phases_seen_open_by_a_clock_that_was_set_back_are_replaced_by_what_is_seen_now(cast: Cast) -> None:
    now, worker = time.time_ns(), Recorder("w")
    worker.open("train", now + HOUR - SECOND)
    telemetry.write([check.job(cast.team.id, wire.Request(batches=[worker.batch()]), now + HOUR)])
    seen = Stream.objects.get().opens_at_ns
    worker.last_ns = now
    telemetry.write([check.job(cast.team.id, wire.Request(batches=[worker.batch()]), now)])
    assert seen > now + HOUR // 2
    assert Stream.objects.get().opens_at_ns == now
