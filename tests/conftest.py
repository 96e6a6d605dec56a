"""Starts the embedded Postgres and Valkey for the whole test session, and stops them after it."""

import os
import shutil
import tempfile
from pathlib import Path

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
