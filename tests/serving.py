"""A real uvicorn with the real ASGI application on the test database."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

REPOSITORY = Path(__file__).resolve().parents[1]


@contextmanager
def serving(log: Path, *, tree: Path = REPOSITORY, ready: str = "/readyz", **environment: str) -> Iterator[str]:
    """The base URL of the server of a tree, once it answers at `ready`; `environment` adds to what it is told."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        told = {"DATABASE_URL": database_url(), "ROUNDWATCH_PUBLIC_URL": url, **environment}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "dashboard.project.serve", "--fd", str(listening.fileno())],
                cwd=tree,
                env={**os.environ, **told},
                pass_fds=[listening.fileno()],
                stdout=output,
                stderr=output,
            )
        try:
            _wait_until_ready(url + ready, process, log)
            yield url
        finally:
            process.terminate()
            process.wait(15)


def database_url() -> str:
    """Where the test database is, for a process of its own."""
    from django.db import connection

    url = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(url._replace(path="/" + str(connection.settings_dict["NAME"])))


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            urllib.request.urlopen(url, timeout=30).close()
        except OSError:
            assert process.poll() is None, f"the server ended: {log.read_text()}"
            assert time.monotonic() < deadline, f"the server is not ready: {log.read_text()}"
            time.sleep(0.05)
        else:
            return
