"""The programs that make the product, and how each is started and known to be ready."""

import dataclasses
import os
import shlex
import signal
import socket
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from dashboard.project import env
from dashboard.project.children import Child, Program
from dashboard.project.datadir import DataFolder
from dashboard.project.embedded import Postgres, Valkey
from dashboard.project.supervisor import Unit
from dashboard.project.warden import MARK

REPOSITORY = Path(__file__).resolve().parents[2]
_SETTLED_S = 1.0
_DEMO = REPOSITORY / "agents/examples/rounds.py"


@dataclasses.dataclass(frozen=True, slots=True)
class House:
    """What one `up` was asked for. `local_url` is where this machine reaches the web server."""

    data: DataFolder
    listening: socket.socket
    local_url: str
    public_url: str
    mark: str

    def _environment(self) -> dict[str, str]:
        return {
            "DJANGO_SETTINGS_MODULE": "dashboard.project.settings",
            "PYTHONUNBUFFERED": "1",
            "ROUNDWATCH_DATA": str(self.data.root),
            # This machine may reach the server by an address that people never use.
            "ROUNDWATCH_HOSTS": ",".join([*env.listing("ROUNDWATCH_HOSTS"), str(urlsplit(self.local_url).hostname)]),
            "ROUNDWATCH_PUBLIC_URL": self.public_url,
            MARK: self.mark,
        }

    def program(self, name: str, *arguments: str, **more: str) -> Program:
        """Return a Python program of ours by its name and arguments; `more` adds to its environment."""
        return Program(
            name=name,
            command=(sys.executable, *arguments),
            log=self.data.logs / f"{name}.log",
            folder=REPOSITORY,
            environment={**self._environment(), **more},
        )

    def servers(self) -> list[Unit]:
        """Return Postgres and Valkey, each only where no outside one is given."""
        units = []
        if not os.environ.get("DATABASE_URL"):
            postgres = Postgres(self.data)
            units.append(Unit("Postgres", postgres.start, postgres.ready))
        if not os.environ.get("REDIS_URL"):
            valkey = Valkey(self.data)
            units.append(Unit("Valkey", valkey.start, valkey.ready))
        return units

    def preparation(self, answer: Path) -> Program:
        """Return the program that migrates, collects static files, and writes token and login link to `answer`."""
        return self.program("prepare", "manage.py", "prepare", "--answer", str(answer))

    def parts(self) -> list[Unit]:
        """Return web server, worker and watcher."""
        return [self._web(), self._worker(), _plain("watcher", self.program("watcher", "manage.py", "watch"))]

    def _web(self) -> Unit:
        arguments = ["-m", "dashboard.project.serve", "--fd", str(self.listening.fileno())]
        program = dataclasses.replace(self.program("web", *arguments), passed_fds=(self.listening.fileno(),))
        return Unit("web server", lambda: Child(program), lambda: _answers(f"{self.local_url}/readyz"))

    def _worker(self) -> Unit:
        ready_file = self.data.root / "worker.ready"
        ready_file.unlink(missing_ok=True)
        processes = os.environ.get("ROUNDWATCH_WORKERS") or "2"
        arguments = ["-m", "celery", "-A", "dashboard.project", "worker", "--concurrency", processes]
        arguments += ["--without-gossip", "--without-mingle", "--loglevel", "INFO"]
        program = self.program("worker", *arguments, ROUNDWATCH_WORKER_READY_FILE=str(ready_file))
        # Celery finishes its tasks on SIGTERM however long they take; SIGQUIT gives them back to the queue.
        program = dataclasses.replace(program, insist_signal=signal.SIGQUIT)
        return Unit("worker", lambda: Child(program), ready_file.exists)

    def agent(self, token: str) -> Unit:
        """Return this host's agent."""
        return _plain("agent", self.program("agent", "-m", "roundwatch", "agent", **self._destination(token)))

    def demo(self, token: str, arguments: str) -> Unit:
        """Return the example training; it may end by itself."""
        unit = _plain("demo", self.program("demo", str(_DEMO), *shlex.split(arguments), **self._destination(token)))
        unit.lasting = False
        return unit

    def _destination(self, token: str) -> dict[str, str]:
        """Where records of this machine go. One agent serves all who name the same URL, token and spool folder."""
        spool = os.environ.get("ROUNDWATCH_SPOOL") or str(self.data.spool)
        return {"ROUNDWATCH_URL": self.local_url, "ROUNDWATCH_TOKEN": token, "ROUNDWATCH_SPOOL": spool}


def _plain(name: str, program: Program) -> Unit:
    # Nothing to ask it: what has lived this long has read its settings and imported its modules.
    unit = Unit(name, lambda: Child(program))
    unit.ready = lambda: unit.child is not None and unit.child.age_s > _SETTLED_S
    return unit


def _answers(url: str) -> bool:
    # Past any proxy of the environment: from there, 127.0.0.1 is somebody else.
    directly = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with directly.open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
