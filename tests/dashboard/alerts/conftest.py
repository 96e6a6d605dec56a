"""What tests of alerts share: a receiver on this machine, Celery's queue, and real workers that may send here."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from pytest_django import Settings

from tests.dashboard.alerts.receivers import LOOPBACK, Receiver, receiving
from tests.serving import REPOSITORY, database_url

Worker = Callable[[], subprocess.Popen[bytes]]
_CELERY = ("-m", "celery", "-A", "dashboard.project", "worker", "-c", "1", "--without-gossip", "--without-mingle")


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """A real HTTP receiver to which webhooks may lead."""
    settings.WEBHOOK_NETWORKS = LOOPBACK
    with receiving() as found:
        yield found


@pytest.fixture
def queue() -> Iterator[redis.Redis]:
    """The server in which tasks wait; none of another test is among them."""
    from django.conf import settings

    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete("celery", "unacked", "unacked_index")
    yield client
    client.delete("celery", "unacked", "unacked_index")


@pytest.fixture
def process(quiet: None, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a command of ours that may send to this machine; what still runs is killed afterwards."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str, **more: str) -> subprocess.Popen[bytes]:
        told = {"DATABASE_URL": database_url(), "ROUNDWATCH_WEBHOOK_NETWORKS": "127.0.0.0/8", **more}
        with (tmp_path / "log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, *command], cwd=REPOSITORY, env={**os.environ, **told}, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        started.append(child)
        return child

    yield start
    for child in started:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


@pytest.fixture
def worker(process: Callable[..., subprocess.Popen[bytes]], queue: redis.Redis, tmp_path: Path) -> Worker:
    """Starts a Celery worker, and returns it once it takes tasks."""
    from tests.ingest.playing import eventually

    def start() -> subprocess.Popen[bytes]:
        ready = tmp_path / f"ready-{len(list(tmp_path.iterdir()))}"
        child = process(*_CELERY, ROUNDWATCH_WORKER_READY_FILE=str(ready))
        eventually(ready.exists, within_s=60)
        return child

    return start
