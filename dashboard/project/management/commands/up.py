"""`manage.py up`: starts everything on this machine and keeps it running; deploy/up execs it."""

import contextlib
import errno
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandParser

from dashboard.project import env
from dashboard.project.datadir import DataFolder, Lock, Refused, default_data, write_private
from dashboard.project.embedded import install_binaries
from dashboard.project.programs import House
from dashboard.project.supervisor import Stopped, Supervisor

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what a person may choose, and how we reach it


class Command(BaseCommand):
    """Prints progress, then one line `Roundwatch is ready: <login_url>`; ends on SIGTERM, SIGINT or SIGHUP."""

    help = "Start Postgres, Valkey, web server, worker, watcher and this host's agent, and keep them running."
    requires_system_checks = ()  # `prepare` makes them, when DATA is known

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the options that interfaces promise."""
        port, data = env.number("ROUNDWATCH_PORT", 8000), Path(env.text("ROUNDWATCH_DATA") or default_data())
        add = parser.add_argument
        add(
            "--port", type=int, default=port, help="port of the web server; 0 takes any free one (default: %(default)s)"
        )
        add("--host", default="127.0.0.1", help="address it listens on (default: %(default)s)")
        add("--public-url", help="address people use, such as a proxy's in front (default: http://HOST:PORT)")
        add("--data", type=Path, default=data, help="folder of all that is kept (default: %(default)s)")
        add("--ready-file", type=Path, help="gets url, login_url and token as JSON, mode 0600, when all is up")
        add("--demo", action="store_true", help="also run the example training")
        add("--demo-args", default="", help='options of the example, in one word: "--starve-encoder 2" (default: none)')

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until told to stop; whatever prevents it is said in one sentence."""
        try:
            self._run(options)
        except (Refused, ImproperlyConfigured) as reason:
            self.stderr.write(str(reason))
            raise SystemExit(1) from None
        except Stopped:
            self._say("stopped")

    def _run(self, options: dict[str, Any]) -> None:
        data = DataFolder(options["data"])
        data.prepare()
        lock = Lock(data.root / "lock")
        if not lock.take():
            raise Refused(f"Roundwatch already runs on {data.root}; stop it first, or choose another --data.")
        listening = _listen(options["host"], options["port"])
        local_url = _url(_EVERYWHERE.get(options["host"], options["host"]), listening)
        public_url = options["public_url"] or env.text("ROUNDWATCH_PUBLIC_URL") or _own_url(options["host"], listening)
        public_url = env.web_url("--public-url", "", source={"--public-url": public_url})
        data.ensure_secret_key()
        write_private(data.url, public_url)
        with lock, listening, Supervisor(self._say) as supervisor:
            house = House(data, listening, local_url, public_url, supervisor.mark)
            token = self._start(house, supervisor, options["ready_file"])
            if options["demo"]:
                supervisor.bring_up([house.demo(token, options["demo_args"])], within_s=30)
            supervisor.run()

    def _start(self, house: House, supervisor: Supervisor, ready_file: Path | None) -> str:
        if ready_file:
            ready_file.unlink(missing_ok=True)
        servers = house.servers()
        if servers:
            self._say("starting " + " and ".join(unit.name for unit in servers))
            install_binaries(house.data)
            supervisor.bring_up(servers, within_s=60)
        self._say("preparing the database")
        answer = house.data.root / "prepared"
        supervisor.run_once(house.preparation(answer), within_s=600)
        prepared = json.loads(answer.read_text())
        answer.unlink()
        self._say("starting web server, worker, watcher and agent")
        supervisor.bring_up([*house.parts(), house.agent(prepared["token"])], within_s=60)
        if ready_file:
            _write_ready(ready_file, {"url": house.public_url, **prepared})
        self._say(f"Roundwatch is ready: {prepared['login_url']}")
        self._say("the link works once, for an hour; Ctrl-C stops everything")
        return str(prepared["token"])

    def _say(self, line: str) -> None:
        with contextlib.suppress(OSError):  # the terminal may be gone; the work goes on
            self.stdout.write(line)
            self.stdout.flush()


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; a predecessor that was just killed gets a moment to let go of the port."""
    if not 0 <= port <= 65_535:
        raise Refused(f"There is no port {port}; choose one from 0 (any free one) to 65535.")
    deadline = time.monotonic() + 2
    while True:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listening = socket.socket(family, kind, protocol)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(2048)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise Refused(f"Cannot listen on {host} port {port}: {problem.strerror}.") from None
            if time.monotonic() > deadline:
                raise Refused(f"Port {port} of {host} is taken; choose another with --port.") from None
            listening.close()
            time.sleep(0.05)
        else:
            return listening


def _url(host: str, listening: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}"


def _own_url(host: str, listening: socket.socket) -> str:
    return _url(socket.gethostname() if host in _EVERYWHERE else host, listening)


def _write_ready(path: Path, content: dict[str, str]) -> None:
    try:
        write_private(path, json.dumps(content))
    except OSError as problem:
        raise Refused(f"Cannot write the ready file {path}: {os.strerror(problem.errno or 0).lower()}.") from None
