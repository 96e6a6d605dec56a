"""Starts the embedded Postgres and Valkey for the whole test session, and stops them after it."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import django
import pytest

from dashboard.project.embedded import Servers
from tests.serving import serving

pytest_plugins = ["tests.cast"]

_servers = pytest.StashKey[Servers]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start servers before Django reads its settings, unless outside ones are given."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.project.settings"
    os.environ.setdefault("ROUNDWATCH_SECRET_KEY", "only-for-tests-" + "x" * 48)
    if not ("DATABASE_URL" in os.environ and "REDIS_URL" in os.environ):
        _start_servers(config)
    else:  # no installation of this machine, whose static files may be those of another day
        os.environ["ROUNDWATCH_DATA"] = str(Path(__file__).parent / "none")
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
    with serving(tmp_path_factory.mktemp("web") / "web.log") as url:
        yield url


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
