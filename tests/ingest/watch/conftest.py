"""Commands of ours as processes beside the test database, and what waits in Celery's queue."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings


@pytest.fixture
def asked() -> Iterator[Callable[[], int]]:
    """How many tasks wait in the queue; it is empty before and after."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete("celery")
    yield lambda: client.llen("celery")
    client.delete("celery")


@pytest.fixture
def process(transactional_db: None, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a command of ours beside the test database; what still runs is killed afterwards."""
    from django.db import connection  # once Django is set up

    started: list[subprocess.Popen[bytes]] = []

    def start(*command: str) -> subprocess.Popen[bytes]:
        name = str(connection.settings_dict["NAME"])
        url = os.environ["DATABASE_URL"].replace("/roundwatch?", f"/{name}?")
        with (tmp_path / "log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, *command], cwd=Path(__file__).resolve().parents[3],
                env={**os.environ, "DATABASE_URL": url}, stdout=log, stderr=log,
            )  # fmt: skip
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.wait()
