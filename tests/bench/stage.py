"""A whole product for a benchmark: servers in a folder under /tmp, the schema, a team's token, and a web server."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dashboard.project.embedded import Servers


@dataclass(frozen=True)
class Stage:
    """Where the web server and Postgres answer, and a token that may ingest."""

    url: str
    database_url: str
    token: str


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    """The product, started; all of it has ended, and its folder is gone, when the block ends."""
    # Directly under /tmp: a socket's path may have only 107 bytes.
    root = Path(tempfile.mkdtemp(prefix="roundwatch-bench-", dir="/tmp"))
    root.chmod(0o711)  # as root, Postgres runs as another user and must reach it
    servers = Servers(root)
    try:
        servers.start()
        token = _prepare(servers, root)
        with _web(root / "web.log") as url:
            yield Stage(url, servers.data.database_url, token)
    finally:
        servers.stop()
        shutil.rmtree(root, ignore_errors=True)


def _prepare(servers: Servers, root: Path) -> str:
    """Make the schema and a team in these servers, for this process and its children; returns a token."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "dashboard.project.settings",
        "ROUNDWATCH_SECRET_KEY": "only-for-benchmarks-" + "x" * 48,
        "ROUNDWATCH_DATA": str(root),
        "DATABASE_URL": servers.data.database_url,
        "REDIS_URL": servers.data.redis_url,
    }
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from dashboard.teams.models import Team
    from dashboard.teams.tokens import issue

    call_command("migrate", verbosity=0)
    token = issue(Team.objects.create(name="Bench", slug="bench"), "bench", ["ingest"])
    connection.close_pool()
    return token


@contextlib.contextmanager
def _web(log: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening, log.open("wb") as output:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-m", "dashboard.project.serve", "--fd", str(listening.fileno())],
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, "ROUNDWATCH_PUBLIC_URL": url},
            pass_fds=[listening.fileno()],
            stdout=output,
            stderr=output,
        )
        try:
            _wait_until_ready(url, process, log)
            yield url
        finally:
            process.terminate()
            process.wait(30)


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=30).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the web server does not answer:\n{log.read_text()}") from None
            time.sleep(0.05)
        else:
            return
