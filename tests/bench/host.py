"""A host with trainings on it: its spool, its environment, and the end of the shipper that they start."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from roundwatch import launch, locks
from roundwatch.folders import Destination

REPOSITORY = Path(__file__).resolve().parents[2]


class Host:
    """Where trainings record for `url`; its processes inherit `environment`."""

    def __init__(self, spool: Path, url: str) -> None:
        self.destination = Destination(spool, url, "token")
        path = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "agents" / "src")))
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ROUNDWATCH_")},
            "ROUNDWATCH_URL": url,
            "ROUNDWATCH_TOKEN": "token",
            "ROUNDWATCH_SPOOL": str(spool),
            **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
            "PYTHONPATH": path,
        }

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """A Python of this host, whose output can be read."""
        return subprocess.Popen(
            [sys.executable, *arguments], env=self.environment, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
        )

    def shipper(self) -> int:
        """The shipper at work, 0 for none."""
        return locks.holder_of(self.destination.folder / launch.LOCK)


def shipper_of(destination: Destination) -> int:
    """The shipper of a destination, once there is one; fails after 10 s."""
    deadline = time.monotonic() + 10
    while not (found := locks.holder_of(destination.folder / launch.LOCK)):
        if time.monotonic() > deadline:
            raise SystemExit("no shipper was started")
        time.sleep(0.02)
    return found


@contextlib.contextmanager
def host(url: str) -> Iterator[Host]:
    """A host of its own; its shipper has ended and its folders are gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix="roundwatch-bench-") as folder:
        place = Host(Path(folder) / "spool", url)
        try:
            yield place
        finally:
            if pid := place.shipper():
                os.kill(pid, signal.SIGKILL)
            shutil.rmtree(place.destination.rings, ignore_errors=True)
