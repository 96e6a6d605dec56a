"""Full and read-only disks, a full tmpfs: the training goes on, nothing is lost that memory holds, doctor says it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from roundwatch.syncing import sync
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site
from tests.agents.endless import ENDLESS, go_on, returned

SHORT = """
import os, roundwatch, signal
run = roundwatch.init("p", run_id="r")
for number in range(30):
    with run.round(number), run.phase("train", i=number):
        pass
os.kill(os.getpid(), signal.SIGKILL)
"""
ALONE = "from roundwatch import launch\nlaunch.Launcher._start_where_none_is = lambda _: None\n"  # it starts no shipper


class Disk:
    """A small filesystem of its own, which can be filled and closed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.mounted = self._mount("-o", "size=2m")

    def fill(self) -> None:
        with suppress_full(), (self.folder / "filler").open("wb", buffering=0) as file:
            while file.write(bytes(4_096)):
                pass

    def clear(self) -> None:
        (self.folder / "filler").unlink()

    def close(self) -> None:
        assert self._mount("-o", "remount,ro")

    def open(self) -> None:
        assert self._mount("-o", "remount,rw,size=8m")

    @contextmanager
    def closed_under_writers(self) -> Iterator[None]:
        """Read-only for whoever opens, renames or removes; what is open for writing would keep a mount from it."""
        folder = str(self.folder)
        subprocess.run(["mount", "--bind", folder, folder], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", folder], check=True)

    def _mount(self, *options: str) -> bool:
        command = ["mount", "-t", "tmpfs", *options, "none", str(self.folder)]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0


def suppress_full() -> "pytest.RaisesExc[OSError]":
    return pytest.raises(OSError, match="No space left")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if shutil.which("mount") is None:
        pytest.skip("no mount command: there is no small disk to fill")
    disk = Disk(tmp_path / "disk")
    if not disk.mounted:
        pytest.skip("this user may not mount a tmpfs: there is no small disk to fill")
    yield disk
    subprocess.run(["umount", "-l", str(disk.folder)], check=True)


@pytest.fixture
def tight(disk: Disk, collector: Collector) -> Iterator[Site]:
    """A host whose spool lies on the small disk."""
    site = Site(disk.folder / "spool", collector.url)
    yield site
    site.close()


@pytest.fixture
def past(disk: Disk) -> Iterator[Site]:
    """The same for a server that is used no more."""
    site = Site(disk.folder / "spool", "http://127.0.0.1:9")
    yield site
    site.close()


class Long:
    """A training that goes on until it is told to end."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.oracle = folder / "oracle"
        self.process = site.python(ENDLESS, str(self.oracle))

    def count(self) -> int:
        return returned(self.oracle)

    def go_on(self, more: int) -> None:
        go_on(self.oracle, more)

    def end(self) -> None:
        self.oracle.with_suffix(".end").touch()
        assert self.process.wait(20) == 0


def doctor(site: Site) -> str:
    command = [sys.executable, "-m", "roundwatch", "doctor"]
    done = subprocess.run(command, env=site.environment, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout


def assert_all_arrives(collector: Collector, training: Long) -> None:
    def kept() -> list[int]:
        return [row["attrs"]["i"] for row in collector.worker().phases("train") if row["state"] == "ok"]

    until(lambda: collector.worker().turns()[-1:] == ["finish"] and collector.worker().whole(), "the stream is whole")
    assert kept() == list(range(training.count()))
    assert not collector.worker().conflicts
    assert not collector.worker().of("drop")


def test_a_full_disk_costs_nothing_that_memory_holds_and_is_used_again_when_it_has_room(
    tight: Site, disk: Disk, collector: Collector, tmp_path: Path
) -> None:
    disk.fill()
    training = Long(tight, tmp_path)
    training.go_on(50)
    assert "the disk is full: what the server cannot take is dropped" in doctor(tight)
    until(lambda: collector.worker().phases("train"), "what memory holds is sent")
    collector.answers = lambda _: (503, {})
    training.go_on(1_500)
    disk.clear()
    until(lambda: any(path.stat().st_size > 50_000 for path in tight.folder.glob("*/*")), "it is saved")
    collector.answers = lambda _: None
    training.end()
    assert_all_arrives(collector, training)
    assert (tight.folder / "destination").read_text() != ""


def test_a_read_only_disk_leaves_records_in_the_ring_until_it_can_be_written(
    tight: Site, disk: Disk, collector: Collector, tmp_path: Path
) -> None:
    disk.close()
    training = Long(tight, tmp_path)
    training.go_on(300)
    assert "cannot be" in next(line for line in doctor(tight).splitlines() if " spool " in line)
    assert not tight.holder()
    disk.open()
    training.go_on(50)
    until(lambda: collector.worker().phases("train"), "a shipper is started when it can be")
    training.end()
    assert_all_arrives(collector, training)


def test_a_disk_that_turns_read_only_under_a_shipper_keeps_what_it_holds_readable(
    tight: Site, disk: Disk, collector: Collector, tmp_path: Path
) -> None:
    collector.answers = lambda _: (503, {})
    training = Long(tight, tmp_path)
    training.go_on(700)  # more than the shipper keeps in memory, and less than a segment
    with disk.closed_under_writers():
        collector.answers = lambda _: None
        until(lambda: collector.worker().turns() == ["begin"] and collector.worker().whole(), "what waits is sent")
        training.go_on(50)
    training.end()
    assert_all_arrives(collector, training)


def test_what_a_full_disk_does_not_take_stays_in_the_ring_of_a_process_that_is_gone(
    tight: Site, disk: Disk, collector: Collector
) -> None:
    collector.answers = lambda _: (503, {})
    disk.fill()
    shipper = tight.shipper()
    tight.python(SHORT).wait(20)
    shipper.terminate()
    shipper.wait(20)
    assert list(tight.rings.glob("*.ring"))
    disk.clear()
    collector.answers = lambda _: None
    tight.shipper()
    assert_short_arrives(collector)


def test_what_a_full_disk_does_not_take_stays_in_the_rings_of_a_destination_that_is_used_no_more(
    site: Site, past: Site, disk: Disk, collector: Collector
) -> None:
    past.destination.prepare()
    past.python(ALONE + SHORT).wait(20)
    disk.fill()
    site.shipper()
    until(lambda: "1 stay there" in (site.folder / "shipper.log").read_text(), "the shipper has looked there")
    disk.clear()
    outcome = sync(past.folder.parent, collector.url, "token", keys=[past.folder.name])
    assert (outcome.left, outcome.trouble) == (0, "")
    assert_short_arrives(collector)
    assert not list(past.rings.glob("*.ring"))


def test_a_shipper_that_is_killed_while_the_disk_is_full_costs_what_memory_held_which_is_counted(
    tight: Site, disk: Disk, collector: Collector, tmp_path: Path
) -> None:
    disk.fill()
    training = Long(tight, tmp_path)
    training.go_on(200)
    until(lambda: len(collector.worker().phases("train")) > 100, "much of it is stored")
    collector.answers = lambda _: (503, {})
    training.go_on(200)
    os.kill(tight.holder(), signal.SIGKILL)
    until(lambda: not tight.holder(), "it is gone")
    disk.clear()
    collector.answers = lambda _: None
    tight.shipper()
    training.go_on(50)
    training.end()
    until(lambda: collector.worker().turns()[-1:] == ["finish"] and collector.worker().whole(), "the stream is whole")
    heard = collector.worker()
    lost = len(heard.of("drop"))  # numbers, of which a phase has two or one
    assert lost
    ended = [row["attrs"]["i"] for row in heard.phases("train") if row["state"] == "ok"]
    assert len(set(ended)) == len(ended) >= training.count() - lost


def assert_short_arrives(collector: Collector) -> None:
    until(lambda: collector.worker().turns()[-1:] == ["gone"] and collector.worker().whole(), "the stream is whole")
    assert [row["attrs"]["i"] for row in collector.worker().phases("train")] == list(range(30))
    assert not collector.worker().of("drop")
    assert not collector.worker().conflicts


SMALL_MEMORY = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=256k none /dev/shm && exec "$@"', "sh"]


@pytest.fixture
def small(site: Site) -> Callable[[list[str]], "subprocess.CompletedProcess[str]"]:
    """Runs a command with a /dev/shm of its own, too small for a ring."""

    def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
        command = [*SMALL_MEMORY, *command]
        return subprocess.run(command, env=site.environment, capture_output=True, text=True, check=False, timeout=60)

    if shutil.which("unshare") is None or run(["true"]).returncode:
        pytest.skip("this user may not have a small /dev/shm of its own")
    return run


def test_a_full_tmpfs_turns_rings_into_private_memory_and_doctor_says_so(
    site: Site, collector: Collector, small: Callable[[list[str]], "subprocess.CompletedProcess[str]"]
) -> None:
    code = """
import subprocess, sys, roundwatch
run = roundwatch.init("p", run_id="r")
for index in range(3):
    with run.round(index), run.phase("train", i=index):
        pass
print(subprocess.run([sys.executable, "-m", "roundwatch", "doctor"], capture_output=True, text=True).stdout)
"""
    done = small([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
    assert "1 of 1 trainings found no room and record in memory of their own: SIGKILL safety is off" in done.stdout
    assert "SIGKILL safety is off when full" in done.stdout
    until(lambda: collector.worker().turns()[-1:] == ["finish"], "the end has arrived")
    assert [row["attrs"]["i"] for row in collector.worker().phases("train")] == [0, 1, 2]
    assert collector.worker().whole()
