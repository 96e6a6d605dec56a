"""One side of `rivals` while it trains: a training with whatever it starts, all of which pauses between its turns."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundwatch import wire
from tests.agents.collector import Collector, collecting
from tests.bench.host import host
from tests.bench.marked import Marked
from tests.bench.provisions import Installed, MissingError

START_S, TURN_S, END_S, LINGER_S = 120, 120, 60, 3
WARM_STEPS = 20
SCRIPT = "from tests.bench.vying import train\n\ntrain({!r})\n"


@dataclass
class Found:
    """What one training of a side was seen to take; of its helpers, all processes but the training, seconds of CPU."""

    start_s: float  # from its command to the first batch asked for
    begin_s: float  # of it with the side's import and init, once there is torch and a model
    lasted_ms: list[float] = field(default_factory=list)  # each step
    training_cpu_ms: float = 0  # a step, of all its threads
    helpers_share: float = 0  # of a core while it steps
    helpers_s: float = 0  # from begin to end
    exit_s: float = 0  # from the last step to the end of the command
    left: int = 0  # bytes in files
    sent: int = 0  # bytes of requests


class Contender:
    """A training that has begun and is paused."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str], collector: Collector) -> None:
        """Will train in `folder`, where nothing else is."""
        self._folder, self._spool, self._collector = folder, Path(environment["ROUNDWATCH_SPOOL"]), collector
        self._marked = Marked("BENCH_SIDE", environment["BENCH_SIDE"])
        self._log = folder.parent / "log"
        script = folder.parent / "train.py"
        script.write_text(SCRIPT.format(name))
        command = [sys.executable, str(script)]
        if name == "traceml-ai":  # its console script, which trains beside a process of its own
            command[1:1] = [environment["BENCH_PACKAGES"] + "/bin/traceml", "run"]
        self._opened = contextlib.ExitStack()
        self._door = self._opened.enter_context(socket.socket(socket.AF_UNIX))
        self._door.bind(environment["BENCH_SOCKET"])
        self._door.listen()
        self._began = time.monotonic()
        with self._log.open("wb") as log:
            self._root = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
        self._turned_s, self._helped_s, self._cpu_s = 0.0, 0.0, 0.0

    def start(self) -> None:
        """Waits until it has begun, and pauses it; raises MissingError where it does not get to its loop."""
        self._connection = self._opened.enter_context(self._accept())
        self._connection.settimeout(TURN_S)
        self._lines = self._opened.enter_context(self._connection.makefile())
        ready = self._told()
        self._pid = ready["pid"]
        self.found = Found(time.monotonic() - self._began, ready["begin_s"])
        self._tell(WARM_STEPS)
        self._told()
        self._marked.look()
        self._marked.send(signal.SIGSTOP)

    def turn(self, steps: int) -> None:
        """Has it step so often while nobody else does, after one that finds the caches of others in its core."""
        self._marked.send(signal.SIGCONT)
        before, began = self._helpers_s(), time.monotonic()
        self._tell(steps + 1)
        said = self._told()
        self._turned_s += time.monotonic() - began
        self._helped_s += self._helpers_s() - before
        self._marked.send(signal.SIGSTOP)
        self.found.lasted_ms += [ns / 1e6 for ns in said["lasted"][1:]]
        self._cpu_s += said["cpu_s"] * steps / (steps + 1)

    def end(self) -> Found:
        """Has it end as trainings end, and tells what was found."""
        self._marked.send(signal.SIGCONT)
        self._tell(0)
        ended, deadline = self._told()["ended"], time.monotonic() + END_S
        known, looks = set[int](), 0
        while self._root.poll() is None:
            if time.monotonic() > deadline:
                raise MissingError(f"it did not end within {END_S} s")
            known = self._marked.look(known if looks % 10 else None)  # those that are new are looked for more seldom
            looks += 1
            time.sleep(0.01)
        self.found.exit_s = time.monotonic() - ended
        if self._root.returncode:
            raise MissingError(self._tail())
        self._marked.leave(LINGER_S)
        self.found.helpers_s = self._all_helpers_s()
        self.found.helpers_share = self._helped_s / self._turned_s
        self.found.training_cpu_ms = 1e3 * self._cpu_s / len(self.found.lasted_ms)
        files = (file for kept in (self._folder, self._spool) for file in kept.rglob("*") if file.is_file())
        self.found.left = sum(file.lstat().st_size for file in files)
        self.found.sent = sum(len(wire.encode(request)) for request in self._collector.requests)
        return self.found

    def close(self) -> None:
        """Ends all of it that is still there."""
        self._opened.close()
        self._marked.send(signal.SIGKILL)
        self._root.wait(10)

    def _helpers_s(self) -> float:
        self._marked.look()
        return self._all_helpers_s()

    def _all_helpers_s(self) -> float:
        return sum(used for pid, used in self._marked.cpu.items() if pid != self._pid)

    def _accept(self) -> socket.socket:
        deadline = time.monotonic() + START_S
        self._door.settimeout(0.2)
        while self._root.poll() is None and time.monotonic() < deadline:
            self._marked.look()
            with contextlib.suppress(TimeoutError):
                return self._door.accept()[0]
        raise MissingError(self._tail())

    def _tell(self, steps: int) -> None:
        self._connection.sendall(b"%d\n" % steps)

    def _told(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise MissingError(self._tail())
        return dict(json.loads(line))

    def _tail(self) -> str:
        said = " / ".join(self._log.read_text(errors="replace").splitlines()[-3:])
        return f"its training failed: {said[-300:]}"


@contextlib.contextmanager
def contender(name: str, rows: int, provision: Installed | None) -> Iterator[Contender]:
    """That side on a host of its own, with a server of its own that takes everything; raises MissingError."""
    with collecting() as collector, host(collector.url) as place:
        folder = place.destination.spool.parent / "work"
        folder.mkdir()
        environment = place.environment | {
            "BENCH_SIDE": str(folder),
            "BENCH_SOCKET": str(folder.parent / "orders"),
            "BENCH_ROWS": str(rows),
            "BENCH_PACKAGES": str(provision.folder) if provision else "",
            "HOME": str(folder),
            "WANDB_MODE": "offline",
        }
        begun = Contender(name, folder, provision.added_to(environment) if provision else environment, collector)
        try:
            begun.start()
            yield begun
        finally:
            begun.close()
