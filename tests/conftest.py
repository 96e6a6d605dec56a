"""Starts the embedded Postgres and Valkey for the whole test session, and stops them after it."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import django
import hypothesis
import pytest
from django.conf import settings

from dashboard.project.embedded import Servers
from dashboard.project.static import collect
from tests import database
from tests.serving import serving

pytest_plugins = ["tests.cast"]

_servers = pytest.StashKey[Servers]()
hypothesis.settings.register_profile("no time is asserted", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("no time is asserted")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start servers before Django reads its settings, unless outside ones are given."""
    if _hands_out(config):
        return  # those who run the tests inherit the environment, and must find none of our settings in it
    os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.project.settings"
    os.environ.setdefault("ROUNDWATCH_SECRET_KEY", "only-for-tests-" + "x" * 48)
    if not ("DATABASE_URL" in os.environ and "REDIS_URL" in os.environ):
        _start_servers(config)
    else:  # no installation of this machine, whose static files may be those of another day
        os.environ["ROUNDWATCH_DATA"] = str(Path(__file__).parent / "none")
    # pytest-django sets Django up only where its settings have been read.
    django.setup()
    database.empty_what_is_full()
    # Each of Django's test clients would look for all static files anew; who asks for one asks a real server.
    settings.SERVESTATIC_USE_FINDERS = settings.SERVESTATIC_AUTOREFRESH = False


def _hands_out(config: pytest.Config) -> bool:
    """Whether this process runs no test itself and only hands them out to others (pytest-xdist)."""
    if config.getoption("dist", "no") == "no" or hasattr(config, "workerinput"):
        return False
    if "REDIS_URL" in os.environ:
        raise pytest.UsageError(
            "Tests that run at the same time need a Redis each: unset REDIS_URL, or run without -n."
        )
    return True


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
    database.hurry(servers.data.database_url)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop what was started and remove its folder."""
    servers = config.stash.get(_servers, None)
    if servers:
        servers.stop()
        shutil.rmtree(servers.data.root, ignore_errors=True)


@pytest.fixture(scope="session")
def web_server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a real uvicorn with the real ASGI application on the test database, and its files collected.

    As a product has them: a page of the live view asks for fifty, which take seconds where each is looked for.
    """
    data = tmp_path_factory.mktemp("web")
    collect(data / "static")
    # Exports are made by the tests themselves, as a worker would.
    with serving(data / "web.log", ROUNDWATCH_DATA=str(data), ROUNDWATCH_EXPORTS=str(settings.EXPORTS)) as url:
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
              WHERE datname = current_database() AND pid <> pg_backend_pid()
              AND (state <> 'idle' OR state_change > clock_timestamp() - interval '120 ms')"""
    deadline = time.monotonic() + 10
    with connection.cursor() as cursor:
        while cursor.execute(busy).fetchone()[0] and time.monotonic() < deadline:
            time.sleep(0.02)
