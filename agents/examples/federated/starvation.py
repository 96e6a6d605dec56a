"""Takes the CPU away from a piece of work: by a cgroup's quota where we may set one, else by a neighbour."""

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from roundwatch.samplers import hierarchy
from roundwatch.samplers.base import Paths

SHARE = 0.1  # of one CPU
PERIOD_US = 100_000
COMES_AFTER = 8  # on a busy machine, where its peers do not get a whole CPU either: an eighth of what they get
PREFIX = "roundwatch-demo-"
NICENESS = 11  # leaves 8 % to it beside one busy neighbour: the kernel's weights are 1024 and 87
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"

Result = TypeVar("Result")


class Starver(Protocol):
    """Runs something with little CPU and gives back what it returns."""

    def __call__(self, act: Callable[[], Result]) -> Result: ...


def starver() -> Starver:
    """The way to get about `SHARE` of one CPU that this machine allows us."""
    try:
        return Quota().starved
    except OSError:
        return beside_busy_neighbour


def _above() -> Path | None:
    place = hierarchy.find(Paths(), "self", "cpu")
    return place.folder if place else None


def remove_old_quotas() -> None:
    """Removes the empty groups of trainers that were killed before they could do it."""
    above = _above()
    for folder in above.glob(f"{PREFIX}*") if above else ():
        with suppress(OSError):  # one that is in use cannot be removed, and shall not
            folder.rmdir()


class Quota:
    """A cgroup of our own with this process in it; as free as any other but for the work that is to starve."""

    def __init__(self) -> None:
        """Raises OSError where we may not make or limit a group."""
        place = hierarchy.find(Paths(), "self", "cpu")
        if place is None:
            raise FileNotFoundError("no cgroup of the cpu controller")
        self._folder = place.folder / f"{PREFIX}{os.getpid()}"
        self._unified = place.unified
        self._folder.mkdir()
        try:
            self._limit(None)
            (self._folder / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:
            self._folder.rmdir()
            raise
        atexit.register(self._leave)

    def _leave(self) -> None:
        with suppress(OSError):
            (self._folder.parent / "cgroup.procs").write_text(str(os.getpid()))
            self._folder.rmdir()

    def starved(self, act: Callable[[], Result]) -> Result:
        """Runs it while this process is limited to `SHARE` of one CPU, and comes after others who want it too."""
        self._limit(SHARE)
        try:
            return act()
        finally:
            self._limit(None)

    def _limit(self, share: float | None) -> None:
        quota = None if share is None else int(share * PERIOD_US)
        # The kernel's weight of a process as nice as we are; a group of one process then counts like that process.
        weight = 1024 / 1.25 ** os.getpriority(os.PRIO_PROCESS, 0) / (1 if share is None else COMES_AFTER)
        if self._unified:
            self._write("cpu.max", "max" if quota is None else str(quota))
            self._write("cpu.weight", str(max(1, round(weight * 100 / 1024))))
        else:
            self._write("cpu.cfs_quota_us", "-1" if quota is None else str(quota))
            self._write("cpu.shares", str(round(weight)))

    def _write(self, name: str, text: str) -> None:
        # Opened for update: a limit file that is not there must be an error, not a new file.
        with (self._folder / name).open("r+") as file:
            file.write(text)


def beside_busy_neighbour(act: Callable[[], Result]) -> Result:
    """Runs it on one CPU together with a process that never rests and goes first.

    In a thread of its own, since who has become less important may not become more important again.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_crowded, act).result()


def _crowded(act: Callable[[], Result]) -> Result:
    me = threading.get_native_id()
    os.sched_setaffinity(me, {min(os.sched_getaffinity(me))})
    neighbour = subprocess.Popen([sys.executable, "-S", "-c", BUSY], stdin=subprocess.DEVNULL)
    try:
        os.setpriority(os.PRIO_PROCESS, me, os.getpriority(os.PRIO_PROCESS, me) + NICENESS)
        return act()
    finally:
        neighbour.kill()
        neighbour.wait()
