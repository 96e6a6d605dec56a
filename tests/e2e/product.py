"""The product as a person starts it: `sh deploy/up` in a process of its own, watched from outside."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

REPOSITORY = Path(__file__).resolve().parents[2]


Found = TypeVar("Found")


def until(seconds: float, look: Callable[[], Found], what: str) -> Found:
    """The first truthy answer of `look`, asked again and again; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        if found := look():
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's own: as root, Postgres runs as another user."""
    made = Path(tempfile.mkdtemp(prefix="rw-", dir="/tmp"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid: int) -> set[int]:
    """All processes below `pid` now."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found: set[int] = set()
    todo = [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found.update(children)
        todo.extend(children)
    return found


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


class Product:
    """One life of `sh deploy/up` over one DATA folder."""

    def __init__(
        self,
        data: Path,
        *arguments: str,
        tree: Path = REPOSITORY,
        port: int | None = None,
        user: str | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.data = data
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ready_file = data.parent / f"ready-{self.port}-{time.monotonic_ns()}.json"
        self.log = data.parent / f"up-{self.port}-{time.monotonic_ns()}.log"
        command = [
            "sh", str(tree / "deploy/up"), "--data", str(data), "--port", str(self.port),
            "--ready-file", str(self.ready_file), *arguments,
        ]  # fmt: skip
        env = {**os.environ, **(environment or {})}
        for name in ("DATABASE_URL", "REDIS_URL", "ROUNDWATCH_DATA", "DJANGO_SETTINGS_MODULE"):
            env.pop(name, None)
        self.started = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=tree, env=env, user=user,
                start_new_session=True,
            )  # fmt: skip
        self.seen: set[int] = set()
        self.ready: dict[str, str] = {}

    def wait_ready(self, seconds: float) -> dict[str, str]:
        def look() -> bool:
            assert self.process.poll() is None, f"up ended:\n{self.text()}"
            return self.ready_file.exists()

        until(seconds, look, f"up is ready:\n{self.text()}")
        self.ready_after = time.monotonic() - self.started
        self.ready = json.loads(self.ready_file.read_text())
        return self.ready

    def text(self) -> str:
        return self.log.read_text(errors="replace")[-8000:]

    def processes(self) -> set[int]:
        self.seen |= descendants(self.process.pid)
        return descendants(self.process.pid)

    def pids(self, needle: str) -> list[int]:
        """Descendants whose command line holds `needle`, oldest first."""
        return sorted(pid for pid in self.processes() if needle in command_of(pid))

    def get(self, path: str, token: str | None = None) -> Any:
        """JSON of a REST path, shown the first team's token unless another is given."""
        request = urllib.request.Request(
            self.url + path,
            headers={"Authorization": f"Bearer {token or self.ready['token']}"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def items(self, path: str) -> Iterator[dict[str, Any]]:
        """Every item of a REST list, page after page."""
        join = "&" if "?" in path else "?"
        cursor = ""
        while True:
            page = self.get(f"{path}{join}limit=1000{cursor}")
            yield from page["items"]
            if page["next"] is None:
                return
            cursor = f"&cursor={page['next']}"

    def try_get(self, path: str) -> Any:
        """Like `get`, None while the server is away."""
        try:
            return self.get(path)
        except (urllib.error.URLError, OSError, ValueError):
            return None

    def terminate(self, seconds: float = 10) -> set[int]:
        """SIGTERM, and which of its processes were still there after `seconds`."""
        before = self.processes()
        self.process.send_signal(signal.SIGTERM)
        return self._left_after(seconds, before)

    def kill(self, seconds: float = 2) -> set[int]:
        """SIGKILL of the supervisor alone, and which of its processes were still there after `seconds`."""
        before = self.processes()
        self.process.kill()
        return self._left_after(seconds, before)

    def _left_after(self, seconds: float, before: set[int]) -> set[int]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (any(map(alive, before)) or self.process.poll() is None):
            time.sleep(0.02)
        self.process.poll()
        return {pid for pid in before | {self.process.pid} if alive(pid)}

    def close(self) -> None:
        """Leaves nothing behind, whatever a test did."""
        rest = self.processes() if self.process.poll() is None else set()
        if self.process.poll() is None:
            self.terminate(15)
        for pid in rest | self.seen:
            if alive(pid) and str(self.data) in command_of(pid):
                os.kill(pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(5)


@contextmanager
def started(data: Path, *arguments: str, port: int | None = None) -> Iterator[Product]:
    """The product, ready; closed whatever happens."""
    product = Product(data, *arguments, port=port)
    try:
        product.wait_ready(120)
        yield product
    finally:
        product.close()
