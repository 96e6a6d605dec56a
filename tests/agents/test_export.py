"""`roundwatch export`: has a real server and a real worker make a file, and fetches it whole or not at all."""

import gzip
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection

from dashboard.runs.exports import making
from dashboard.teams import tokens
from ingest.models import Export, Run
from ingest.store import exports
from tests.cast import Cast, make_cast
from tests.dashboard.runs.exports import exported_run as stage
from tests.ingest.playing import eventually
from tests.serving import database_url

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cast(web: str) -> Cast:
    return make_cast()


@pytest.fixture
def run(cast: Cast) -> Iterator[Run]:
    yield stage.make_run(cast.team)
    Export.objects.all().delete()
    making.sweep()


@pytest.fixture
def worker(run: Run, tmp_path: Path) -> Iterator[None]:
    """A Celery worker beside the test database."""
    with (tmp_path / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "dashboard.project.celery", "worker", "--pool", "solo"],
            cwd=Path(__file__).resolve().parents[2], env={**os.environ, "DATABASE_URL": database_url()},
            stdout=log, stderr=log,
        )  # fmt: skip
    yield
    process.kill()
    process.wait()


@pytest.fixture
def command(web: str, cast: Cast, tmp_path: Path) -> Command:
    """Runs `roundwatch export` in an empty folder, with a token of these scopes."""

    def run_it(*arguments: str, scope: str = "read", url: str = web) -> subprocess.CompletedProcess[str]:
        (tmp_path / "here").mkdir(exist_ok=True)
        told = {"ROUNDWATCH_URL": url, "ROUNDWATCH_TOKEN": tokens.issue(cast.team, "script", [scope])}
        path = os.pathsep.join(sys.path)
        return subprocess.run(
            [sys.executable, "-m", "roundwatch", "export", *arguments], cwd=tmp_path / "here", timeout=90,
            env={**os.environ, **told, "PYTHONPATH": path}, capture_output=True, text=True,
            errors="replace", check=False,
        )  # fmt: skip

    return run_it


def test_a_run_is_fetched_by_its_id_page_key_or_name_in_each_format(
    command: Command, run: Run, worker: None, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    done = command(str(run.pk))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("run-1.json.gz: ")
    assert len(json.loads(gzip.decompress((here / "run-1.json.gz").read_bytes()))["traceEvents"]) > 30

    done = command(f"http://127.0.0.1/runs/{run.pk}/?round=1", "--format", "csv", "-o", "tables.zip")
    assert done.returncode == 0, done.stderr
    assert set(zipfile.ZipFile(here / "tables.zip").namelist()) == {"phases.csv", "rounds.csv", "samples.csv"}

    Run.objects.update(name="Grün/../=1+1")
    done = command(run.key, "--format", "parquet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Gr-n-..--1-1.zip: ")
    assert command("Grün/../=1+1", "-o", "-").stdout.startswith("\x1f")
    assert sorted(path.name for path in here.iterdir()) == ["Gr-n-..--1-1.zip", "run-1.json.gz", "tables.zip"]


def test_what_cannot_be_had_is_said_and_leaves_no_file(command: Command, cast: Cast, run: Run, tmp_path: Path) -> None:
    other = stage.make_run(cast.team, workers=1, count=1, key="twin")
    Run.objects.filter(pk__in=[run.pk, other.pk]).update(name="same")
    for arguments, told in (
        (["nobody"], "none is called 'nobody'"),
        (["same"], "2 runs are called 'same'"),
        (["11111111-2222-3333-4444-555555555555"], "There is nothing here."),
    ):
        refused = command(*arguments)
        assert (refused.returncode, told in refused.stderr) == (1, True), refused.stderr
    refused = command(str(run.pk), scope="ingest")
    assert (refused.returncode, "lacks the scope" in refused.stderr) == (1, True)
    refused = command(str(run.pk), url="http://127.0.0.1:9")
    assert (refused.returncode, "127.0.0.1:9" in refused.stderr) == (1, True)
    assert command(str(run.pk), url="no address").returncode == 2
    assert command(str(run.pk), "--format", "xlsx").returncode == 2
    assert list((tmp_path / "here").iterdir()) == []


def test_an_export_that_fails_at_the_server_is_said_with_its_reason(command: Command, run: Run) -> None:
    def fail() -> None:
        eventually(Export.objects.exists)
        Export.objects.update(tries=exports.MOST_TRIES, reason="The file could not be written: no space left.")
        exports.take(Export.objects.get().pk)
        connection.close()

    failing = threading.Thread(target=fail)
    failing.start()
    done = command(str(run.pk))
    failing.join()
    assert done.returncode == 1
    assert "could not make it: The file could not be written: no space left." in done.stderr
