"""The data folder of one installation (DATA): where things lie in it, who may reach it, and that one `up` owns it."""

import errno
import fcntl
import os
import pwd
import secrets
import subprocess
import time
from pathlib import Path
from typing import Self

from dashboard.project.children import Account

# 16 MiB of WAL twice over, the binaries and a first day of data; below this Postgres stops within minutes.
LEAST_FREE_BYTES = 512 * 1024 * 1024
# The kernel takes 107 bytes for a socket's path, and Postgres adds this name to the folder.
LONGEST_SOCKET_FOLDER = 107 - len("/.s.PGSQL.5432.lock")


class Refused(Exception):  # noqa: N818 - it is an answer to a person, one clear sentence
    """Why nothing was started, in one sentence for the person who tried."""


def default_data() -> Path:
    """Return where data lies unless ROUNDWATCH_DATA or --data says otherwise."""
    return Path("/var/lib/roundwatch") if os.geteuid() == 0 else Path.home() / ".local/share/roundwatch"


def service_account() -> Account | None:
    """Return the user that Postgres and Valkey run as: ours, or for root ROUNDWATCH_SERVICE_USER (nobody).

    Raises Refused when root names a user that does not exist or is root.
    """
    if os.geteuid() != 0:
        return None
    name = os.environ.get("ROUNDWATCH_SERVICE_USER") or "nobody"
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise Refused(f"ROUNDWATCH_SERVICE_USER: there is no user {name!r} on this machine.") from None
    if entry.pw_uid == 0:
        raise Refused("ROUNDWATCH_SERVICE_USER must not be root: Postgres refuses to run as root.")
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


class DataFolder:
    """Paths of DATA. Nothing is made or read until a method says so."""

    def __init__(self, root: Path) -> None:
        """Name the folder; it need not exist yet."""
        self.root = root.expanduser().absolute()
        self.binaries = self.root / "bin"
        self.postgres = self.root / "postgres"
        self.sockets = self.root / "run"
        self.logs = self.root / "log"
        self.static = self.root / "static"
        self.spool = self.root / "spool"
        self.exports = self.root / "exports"
        self.secret_key = self.root / "secret_key"
        self.token = self.root / "token"
        self.url = self.root / "url"

    @property
    def database_url(self) -> str:
        """Where the embedded Postgres of this folder answers."""
        return f"postgresql://roundwatch@/roundwatch?host={self.sockets}"

    @property
    def redis_url(self) -> str:
        """Where the embedded Valkey of this folder answers."""
        return f"unix://{self.sockets}/valkey.sock"

    def last_url(self, default: str) -> str:
        """The address people used at the last `up` on this folder."""
        try:
            return self.url.read_text().strip()
        except OSError:
            return default

    def prepare(self) -> None:
        """Make the folder and check that everything can live there; raises Refused with the reason otherwise."""
        if len(os.fsencode(self.sockets)) > LONGEST_SOCKET_FOLDER:
            raise Refused(f"The path {self.root} is too long for a socket: choose a shorter --data.")
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o711)
            self.logs.mkdir(exist_ok=True, mode=0o700)
            self._probe()
        except OSError as problem:
            raise Refused(f"Cannot write to {self.root}: {_reason(problem)}.") from None
        account = service_account()
        if account:
            self._refuse_unreachable(account)
        for folder in (self.postgres, self.sockets):
            folder.mkdir(exist_ok=True, mode=0o700)
            if account:
                os.chown(folder, account.uid, account.gid)

    def _probe(self) -> None:
        probe = self.root / f".probe-{os.getpid()}"
        probe.write_bytes(b"\0" * 4096)
        probe.unlink()
        room = os.statvfs(self.root)
        free = room.f_bavail * room.f_frsize
        if free < LEAST_FREE_BYTES:
            mib = 1024 * 1024
            raise Refused(
                f"The disk of {self.root} has {free // mib} MiB free; Roundwatch needs {LEAST_FREE_BYTES // mib} MiB."
            )

    def _refuse_unreachable(self, account: Account) -> None:
        # Asking the kernel as that user is the only answer that counts ACLs, groups and mount options.
        reach = subprocess.run(
            ["/bin/sh", "-c", 'cd "$1"', "sh", str(self.root)],
            user=account.uid,
            group=account.gid,
            extra_groups=[],
            cwd="/",
            check=False,
            stderr=subprocess.DEVNULL,
        )
        if reach.returncode != 0:
            name = pwd.getpwuid(account.uid).pw_name
            raise Refused(
                f"Postgres runs as the user {name}, who cannot reach {self.root}: choose a --data outside private "
                "folders, such as /var/lib/roundwatch."
            )

    def ensure_secret_key(self) -> str:
        """Return the installation's secret key, made with mode 0600 on first use."""
        if not self.secret_key.exists():
            write_private(self.secret_key, secrets.token_urlsafe(48))
        return self.secret_key.read_text().strip()


def write_private(path: Path, content: str) -> None:
    """Write a file that only we can read, complete or not at all."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


class Lock:
    """An exclusive lock on a file, let go by the kernel when the last process that holds it is gone."""

    def __init__(self, path: Path) -> None:
        """Name the lock file; it is made when taken."""
        self._path = path
        self.fd = -1

    def take(self, within_s: float = 0.0) -> bool:
        """Return whether the lock is ours, waiting at most `within_s` seconds for it."""
        self.fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + within_s
        while True:
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    self.release()
                    return False
                time.sleep(0.02)
            else:
                return True

    def release(self) -> None:
        """Close our hold; children that inherited it keep theirs."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Self:
        """Return itself; the lock was taken before."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close our hold."""
        self.release()


def _reason(problem: OSError) -> str:
    if problem.errno in {errno.ENOSPC, errno.EDQUOT}:
        return "the disk is full"
    return (problem.strerror or str(problem)).lower()
