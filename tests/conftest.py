"""Starts the embedded Postgres and Valkey for the whole test session, and stops them after it."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import django
import pytest

from dashboard.project.embedded import Servers

pytest_plugins = ["tests.cast"]

_servers = pytest.StashKey[Servers]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start servers before Django reads its settings, unless outside ones are given."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.project.settings"
    os.environ.setdefault("ROUNDWATCH_SECRET_KEY", "only-for-tests-" + "x" * 48)
    if not ("DATABASE_URL" in os.environ and "REDIS_URL" in os.environ):
        _start_servers(config)
    # pytest-django sets Django up only where its settings have been read.
    django.setup()


def _start_servers(config: pytest.Config) -> None:
    # Directly under /tmp: a socket's path may have only 107 bytes.
    root = Path(tempfile.mkdtemp(prefix="roundwatch-test-", dir="/tmp"))
    root.chmod(0o711)  # as root, Postgres runs as another user and must reach it
    servers = Servers(root)
    config.stash[_servers] = servers
    servers.start()
    os.environ["ROUNDWATCH_DATA"] = str(root)
    os.environ.setdefault("DATABASE_URL", servers.data.database_url)
    os.environ.setdefault("REDIS_URL", servers.data.redis_url)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what was started and remove its folder."""
    servers = config.stash.get(_servers, None)
    if servers:
        servers.stop()
        shutil.rmtree(servers.data.root, ignore_errors=True)


@pytest.fixture(scope="session")
def web_server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a real uvicorn with the real ASGI application on the test database."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        log = tmp_path_factory.mktemp("web") / "web.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "dashboard.project.serve", "--fd", str(listening.fileno())],
                cwd=Path(__file__).resolve().parents[1],
                env={**os.environ, "DATABASE_URL": _test_database_url(), "ROUNDWATCH_PUBLIC_URL": url},
                pass_fds=[listening.fileno()],
                stdout=output,
                stderr=output,
            )
        try:
            _wait_until_ready(url, process, log)
            yield url
        finally:
            process.terminate()
            process.wait(15)


@pytest.fixture
def web(web_server: str, quiet: None) -> str:
    """The base URL of a running server, beside a database that is emptied after the test."""
    return web_server


@pytest.fixture
def quiet(transactional_db: None) -> Iterator[None]:
    """A database that is emptied once others have ended what they read, or are about to: else it could deadlock."""
    yield
    _wait_until_quiet()


def _wait_until_quiet() -> None:
    from django.db import connection

    busy = """SELECT count(*) FROM pg_stat_activity
              WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"""
    deadline, quiet = time.monotonic() + 10, 0
    with connection.cursor() as cursor:
        while quiet < 6 and time.monotonic() < deadline:
            time.sleep(0.02)
            cursor.execute(busy)
            quiet = 0 if cursor.fetchone()[0] else quiet + 1


def _test_database_url() -> str:
    from django.db import connection

    url = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(url._replace(path="/" + str(connection.settings_dict["NAME"])))


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=30).close()
        except OSError:
            assert process.poll() is None, f"the server ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"the server is not ready: {log.read_text()}"
            time.sleep(0.05)
        else:
            return
