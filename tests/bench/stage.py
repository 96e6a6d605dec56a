"""A whole product for a benchmark: servers in a folder under /tmp, the schema, a team's token, and a web server."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import redis

from dashboard.project.embedded import Servers

REPOSITORY = Path(__file__).resolve().parents[2]
_WORKER = ("-m", "celery", "-A", "dashboard.project", "worker", "--concurrency", "2")
_TASKS = {
    "worker": (*_WORKER, "--without-gossip", "--without-mingle", "--loglevel", "WARNING"),
    "watcher": ("manage.py", "watch"),
}


@dataclass(frozen=True)
class Stage:
    """Where the web server, Postgres and Redis answer, a token that may ingest, and the process ids of the parts."""

    url: str
    database_url: str
    token: str
    redis_url: str = ""
    parts: Mapping[str, int] = field(default_factory=dict)


@contextlib.contextmanager
def stage(*, tasks: bool = False) -> Iterator[Stage]:
    """The product, with Celery's worker and the watcher if `tasks`; all of it has ended, and its folder is gone, when
    the block ends.
    """
    # Directly under /tmp: a socket's path may have only 107 bytes.
    root = Path(tempfile.mkdtemp(prefix="roundwatch-bench-", dir="/tmp"))
    root.chmod(0o711)  # as root, Postgres runs as another user and must reach it
    servers = Servers(root)
    try:
        servers.start()
        token = _prepare(servers, root)
        with contextlib.ExitStack() as stack:
            url, web = stack.enter_context(_web(root / "web.log"))
            parts = {"web": web, "postgres": int((servers.data.postgres / "postmaster.pid").read_text().split()[0])}
            with redis.Redis.from_url(servers.data.redis_url) as client:
                parts["valkey"] = client.info("server")["process_id"]
            for name, arguments in _TASKS.items() if tasks else ():
                parts[name] = stack.enter_context(_program(arguments, root / f"{name}.log"))
            yield Stage(url, servers.data.database_url, token, servers.data.redis_url, parts)
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

    from dashboard.project.static import collect
    from dashboard.teams.models import Team
    from dashboard.teams.tokens import issue

    call_command("migrate", verbosity=0)
    collect(root / "static")  # as `up` does before the web server starts
    token = issue(Team.objects.create(name="Bench", slug="bench"), "bench", ["ingest"])
    connection.close_pool()  # type: ignore[attr-defined]  # Postgres' has one
    return token


@contextlib.contextmanager
def _web(log: Path) -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url, fd = f"http://127.0.0.1:{listening.getsockname()[1]}", listening.fileno()
        os.environ["ROUNDWATCH_PUBLIC_URL"] = url
        with _program(("-m", "dashboard.project.serve", "--fd", str(fd)), log, fd) as pid:
            _wait_until_ready(url, pid, log)
            yield url, pid


@contextlib.contextmanager
def _program(arguments: tuple[str, ...], log: Path, *fds: int) -> Iterator[int]:
    """A Python program of the repository, by its process id; it has ended when the block ends."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=REPOSITORY, pass_fds=fds, stdout=output, stderr=output
        )
    try:
        yield process.pid
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """As the supervisor does: Celery, which may have lost its broker, gives up on SIGQUIT only."""
    for number, patience_s in ((signal.SIGTERM, 5), (signal.SIGQUIT, 10), (signal.SIGKILL, 10)):
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
            return


def _wait_until_ready(url: str, pid: int, log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=30).close()
        except OSError:
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) or time.monotonic() > deadline:
                raise SystemExit(f"the web server does not answer:\n{log.read_text()}") from None
            time.sleep(0.05)
        else:
            return
