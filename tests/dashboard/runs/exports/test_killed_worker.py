"""A worker that is killed in the middle of an export costs that one slice: another goes on, and the file is whole."""

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings as installed
from django.utils import timezone

from dashboard.runs.exports.making import path_of
from ingest.models import Export, Phase, Run
from ingest.store import exports
from tests.cast import Cast
from tests.dashboard.runs.exports import exported_run as stage
from tests.ingest.batches import Recorder
from tests.ingest.playing import eventually
from tests.ingest.storing import store
from tests.serving import database_url

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., subprocess.Popen[bytes]]
WORKER = ("-m", "celery", "-A", "dashboard.project.celery", "worker", "--pool", "solo", "--loglevel", "WARNING")


@pytest.fixture
def start(transactional_db: None, folder: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a command of ours beside the test database; what still runs is killed afterwards."""
    started: list[subprocess.Popen[bytes]] = []
    told = {"DATABASE_URL": database_url(), "ROUNDWATCH_EXPORTS": str(folder)}

    def begin(*command: str) -> subprocess.Popen[bytes]:
        with (tmp_path / "log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, *command], cwd=Path(__file__).resolve().parents[4], env={**os.environ, **told},
                stdout=log, stderr=log,
            )  # fmt: skip
        started.append(child)
        return child

    queue = redis.Redis.from_url(installed.REDIS_URL)
    queue.delete("celery")
    yield begin
    for child in started:
        child.kill()
        child.wait()
    queue.delete("celery")


@pytest.fixture
def run(cast: Cast) -> Run:
    """A run of which a worker has work for some seconds."""
    recorder = Recorder("rank-0", run="large", began_ns=stage.BEGIN_NS).begin()
    for part in range(12):
        for index in range(5_000):
            begin = 10.0 * (5_000 * part + index)
            recorder.phase("step", stage.at(begin), stage.at(begin + 5), thread=index % 7)
        store(cast.team, [recorder.batch()])
    return Run.objects.get(key="large")


def killed_at_work(start: Start, export: Export) -> None:
    """A worker takes the export, and is killed before it has said that it got on."""
    worker = start(*WORKER)
    eventually(lambda: Export.objects.get(pk=export.pk).state == "running", within_s=60)
    worker.kill()
    worker.wait()
    assert Export.objects.get(pk=export.pk).held_until is not None


def test_another_worker_goes_on_where_one_was_killed(start: Start, run: Run) -> None:
    export = exports.ask(run, "perfetto", None)
    killed_at_work(start, export)
    # Nobody else is let at it for as long as the dead one might be alive: that time is over.
    Export.objects.update(held_until=timezone.now() - dt.timedelta(seconds=1))

    start("manage.py", "watch")
    start(*WORKER)

    eventually(lambda: Export.objects.get(pk=export.pk).state == "done", within_s=60)
    told = stage.bars(path_of(export.pk).read_bytes())
    assert len(told) == Phase.objects.filter(run_id=run.pk).count() == 60_000
    assert len({(one["tid"], one["ts"]) for one in told}) == len(told)
