"""Starts a shipper where none runs: from `init`, and again at a round's boundary when the one before has died."""

import os
import subprocess
import sys
import time
from pathlib import Path

from roundwatch import locks
from roundwatch.folders import Destination
from roundwatch.training_log import warn

SILENCE_NS = 3_000_000_000  # a living shipper looks several times a second
AGAIN_NS = 5_000_000_000
LOCK = "lock"
REFUSED = "token refused"  # lies in a destination's folder while the server does not take its token


class Launcher:
    """Keeps one shipper alive for a destination; never waits for it."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._tried_ns = 0
        self._started: subprocess.Popen[bytes] | None = None
        self._told = self._told_refused = False
        self._refused_before = os.path.exists(destination.folder / REFUSED)  # noqa: PTH110 - Path's may raise

    def look(self, seen_ns: int, *, refused: bool) -> None:
        """Starts a shipper if none has looked for 3 s (`seen_ns` is when one did). Called at each boundary."""
        self.close(refused=refused or self._refused_before)
        now = time.monotonic_ns()
        if 0 <= now - seen_ns < SILENCE_NS or now - self._tried_ns < AGAIN_NS:
            return
        self._tried_ns = now
        self._start_where_none_is()

    def leave(self, *, refused: bool) -> None:
        """Starts a shipper if none is at work, however lately one was: after the training's end nobody looks again."""
        self.close(refused=refused)
        if self._started is None:
            self._start_where_none_is()

    def _start_where_none_is(self) -> None:
        try:
            if not locks.holder_of(self._destination.folder / LOCK):
                self._start()
        except (OSError, RuntimeError) as error:  # RuntimeError: an interpreter that is about to end
            self._tell(error)

    def close(self, *, refused: bool) -> None:
        """Says once where the server refuses the token; buries the process that was started.

        That one hands over to a child of its own at once.
        """
        if refused and not self._told_refused:
            self._told_refused = True
            warn(
                "the server refuses the token; records are kept in %s; run `roundwatch doctor`", self._destination.spool
            )
        if self._started is not None and self._started.poll() is not None:
            self._started = None

    def _start(self) -> None:
        environment = os.environ | {
            "ROUNDWATCH_SPOOL": str(self._destination.spool),
            "ROUNDWATCH_URL": self._destination.url,
            "ROUNDWATCH_TOKEN": self._destination.token,
            "PYTHONPATH": python_path(),
        }
        self._started = subprocess.Popen(
            [sys.executable or "python3", "-m", "roundwatch.shipper", "--detach"],
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            warn("no shipper could be started (%s): records wait in memory, and are dropped when it is full", error)


def python_path() -> str:
    """PYTHONPATH for a child that shall import this very package."""
    ours = str(Path(__file__).parent.parent)
    given = os.environ.get("PYTHONPATH", "")
    return f"{ours}{os.pathsep}{given}" if given else ours
