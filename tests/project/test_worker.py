"""The worker's process ends at once where Celery can go on no more, so that the next one takes its place."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import celery
import pytest

from dashboard.project.celery import broker_url
from tests.e2e.product import until
from tests.own_valkey import OwnValkey
from tests.serving import REPOSITORY

# What a broker's end may meet within Celery: an error that nobody there has foreseen; and a task that lasts.
BROKEN = """
import time
from celery.worker.consumer.consumer import Consumer
from dashboard.project.celery import app

def fail(self, error):
    raise AttributeError("of the broker's library")

Consumer.on_connection_error_after_connected = fail

@app.task(name="nap")
def nap(path):
    open(path, "w").close()
    time.sleep(60)
"""


@pytest.fixture
def valkey() -> Iterator[OwnValkey]:
    with tempfile.TemporaryDirectory(prefix="rw", dir="/tmp") as folder:
        own = OwnValkey(Path(folder))
        own.start()
        yield own
        own.kill()


def test_a_worker_that_can_go_on_no_more_ends_without_waiting_for_its_tasks(valkey: OwnValkey, tmp_path: Path) -> None:
    (tmp_path / "broken_worker.py").write_text(BROKEN)
    ready, begun, log = (tmp_path / name for name in ("ready", "begun", "log"))
    path = os.pathsep.join([str(tmp_path), str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "REDIS_URL": valkey.url, "ROUNDWATCH_WORKER_READY_FILE": str(ready)}
    command = [sys.executable, "-m", "celery", "-A", "broken_worker:app", "worker", "--concurrency", "1"]
    with log.open("wb") as output:
        worker = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=output, stderr=output)
    try:
        until(30, ready.exists, "the worker is ready")
        with celery.Celery(broker=broker_url(valkey.url)) as sender:
            sender.send_task("nap", [str(begun)])
        until(10, begun.exists, "its task has begun")
        valkey.kill()
        assert worker.wait(5), "a failure"  # a task's own limit is 15 s
    finally:
        worker.kill()
    assert "Unrecoverable error" in log.read_text()
