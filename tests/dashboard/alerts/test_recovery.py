"""Through a lost Redis and a killed worker: every alert once in the database, and at the receiver with one key."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis
from django.db import connection, transaction

from dashboard.alerts import incidents
from dashboard.alerts.models import Alert, Delivery, Try
from dashboard.alerts.tasks import tell
from ingest import watch
from ingest.models import Finding, Outbox
from tests.cast import Cast, make_cast
from tests.dashboard.alerts.receivers import LOOPBACK, receiving
from tests.dashboard.alerts.telling import SLOW, hook, judged, slow_run
from tests.ingest.playing import eventually


@pytest.fixture
def cast(quiet: None) -> Cast:
    return make_cast()


def test_what_a_lost_redis_forgot_is_found_by_the_watch(cast: Cast, queue: redis.Redis) -> None:
    judged(slow_run(cast.team), SLOW)
    assert queue.llen("celery") == 1
    queue.flushall()
    watch.tell_people()
    assert queue.llen("celery") == 1
    tell()
    queue.flushall()
    watch.tell_people()
    assert queue.llen("celery") == 0


def test_a_finding_that_is_not_committed_is_not_told(cast: Cast, queue: redis.Redis) -> None:
    run = slow_run(cast.team)
    with transaction.atomic():
        judged(run, SLOW)
        transaction.set_rollback(True)
    assert not Finding.objects.exists()
    assert not Outbox.objects.exists()
    assert queue.llen("celery") == 0


def test_a_worker_killed_in_the_middle_of_sending_delivers_later_with_the_same_key(
    cast: Cast, worker: Callable[[], subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    holds = threading.Event()
    with receiving() as receiver:

        def held() -> tuple[int, dict[str, str]]:
            holds.wait(60)
            return 200, {}

        receiver.answer = held
        hook(cast.team, receiver.url)
        first = worker()
        judged(slow_run(cast.team), SLOW)
        eventually(lambda: receiver.got, within_s=60)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        holds.set()
        # Its claim lasts 20 s; nobody has to wait for that here.
        Delivery.objects.update(claimed_until=None)
        Outbox.objects.filter(due_at__isnull=False).update(due_at=Delivery.objects.get().made_at)
        worker()
        watch.tell_people()
        eventually(lambda: Delivery.objects.filter(state="delivered").exists(), within_s=60)
    assert len(receiver.got) == 2
    assert len({headers["Idempotency-Key"] for headers, _ in receiver.got}) == 1
    assert (Finding.objects.count(), Alert.objects.count(), Delivery.objects.count()) == (1, 1, 1)
    assert [each.delivered for each in Try.objects.order_by("pk")] == [False, True]


def test_the_end_of_a_finding_is_not_taken_while_somebody_is_at_its_beginning(cast: Cast, queue: redis.Redis) -> None:
    run = slow_run(cast.team)
    judged(run, SLOW)
    judged(run)
    taken, done = threading.Event(), threading.Event()

    def at_it() -> None:
        with transaction.atomic():
            Outbox.objects.select_for_update(no_key=True).earliest("pk")
            taken.set()
            done.wait(30)
        connection.close()

    other = threading.Thread(target=at_it)
    other.start()
    taken.wait(30)
    assert not incidents.take_next()
    done.set()
    other.join(30)
    assert [incidents.take_next() for _ in range(3)] == [True, True, False]
    assert Alert.objects.get().state == "resolved"


def test_many_who_tell_at_once_send_each_message_once(cast: Cast, queue: redis.Redis, settings: object) -> None:
    settings.WEBHOOK_NETWORKS = LOOPBACK  # type: ignore[attr-defined]
    run = slow_run(cast.team)
    with receiving() as receiver, receiving() as other:
        hook(cast.team, receiver.url)
        hook(cast.team, other.url)
        judged(run, *(replace(SLOW, phase=f"p{n}", fingerprint=f"straggler:p{n}") for n in range(8)))

        def telling() -> None:
            try:
                tell()
            finally:
                connection.close()

        threads = [threading.Thread(target=telling) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        tell()  # what the last of them left, because a channel was busy
    for each in (receiver, other):
        keys = [headers["Idempotency-Key"] for headers, _ in each.got]
        assert len(keys) == len(set(keys)) == 8
    assert not Outbox.objects.exclude(due_at=None).exists()
