"""A collector to send to, a spool, and trainings and shippers as processes of their own that leave nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundwatch import launch, locks
from roundwatch.folders import Destination
from tests.agents.collector import Collector, collecting, until
from tests.agents.recorder import Recording

SOURCES = Path(__file__).parents[2] / "agents" / "src"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


class Site:
    """One host's destination: its environment, its folders, and the processes that the test started on it."""

    def __init__(self, spool: Path, url: str, token: str = "token") -> None:  # noqa: S107 - the collector takes any
        self.destination = Destination(spool, url, token if url else "")
        self.folder, self.rings = self.destination.folder, self.destination.rings
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ROUNDWATCH_")},
            "ROUNDWATCH_URL": url,
            "ROUNDWATCH_TOKEN": self.destination.token,
            "ROUNDWATCH_SPOOL": str(spool),
            "PYTHONPATH": str(SOURCES),
            "PYTHONUNBUFFERED": "1",
        }
        self._processes: list[subprocess.Popen[str]] = []

    def python(self, code: str, *arguments: str) -> "subprocess.Popen[str]":
        """A training that runs `code`, whose output can be read."""
        return self._start("-c", code, *arguments)

    def run(self, code: str) -> str:
        """Runs a training to its end, which must be a good one, and returns what it printed."""
        process = self.python(code)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 0
        return output

    def shipper(self, *options: str) -> "subprocess.Popen[str]":
        """A shipper of the test's own; trainings then start none."""
        process = self._start("-m", "roundwatch.shipper", *options)
        until(self.holder, "the shipper holds its lock")
        return process

    def holder(self) -> int:
        """The shipper at work, 0 for none."""
        return locks.holder_of(self.folder / launch.LOCK)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait(10)
            if process.stdout is not None:
                process.stdout.close()
        if holder := self.holder():
            os.kill(holder, signal.SIGKILL)
        shutil.rmtree(self.rings, ignore_errors=True)

    def _start(self, *arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, *arguments]
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True)
        self._processes.append(process)
        return process


@pytest.fixture
def site(tmp_path: Path, collector: Collector) -> Iterator[Site]:
    """A host that sends to the collector."""
    site = Site(tmp_path / "spool", collector.url)
    yield site
    site.close()


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Site]:
    """A host that sends to nobody."""
    site = Site(tmp_path / "spool", "")
    yield site
    site.close()


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    """A run of this process, whose ring the test reads."""
    recording = Recording(tmp_path)
    yield recording
    recording.close()
