"""The supervisor mends what dies and leaves nothing behind, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.project.children import Child, Program
from dashboard.project.supervisor import Unit
from dashboard.project.warden import marked

REPOSITORY = Path(__file__).resolve().parents[2]


def until(condition: Callable[[], bool], within_s: float = 10.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.02)


class Household:
    """A supervisor with two programs, in a process of its own."""

    def __init__(self, folder: Path, *guests: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("household.py")), str(folder), *guests],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.told = json.loads(self.line())
        self.mark = str(self.told["mark"])

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def members(self) -> set[int]:
        return set(marked(self.mark))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(15)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    house = Household(tmp_path)
    yield house
    house.close()


def test_a_killed_program_is_started_again_and_said_so(household: Household) -> None:
    os.kill(household.told["stubborn"], signal.SIGKILL)
    assert household.line() == "stubborn ended (SIGKILL), starting it again\n"
    until(lambda: household.told["stubborn"] not in household.members() and len(household.members()) == 3)


def test_sigterm_leaves_no_process_not_even_stubborn_ones_and_orphans(household: Household) -> None:
    until(lambda: len(household.members()) == 3)
    household.process.send_signal(signal.SIGTERM)
    household.process.wait(10)
    assert household.members() == set()
    assert household.line() == "stopped\n"


def test_ctrl_c_stops_in_the_same_order(household: Household) -> None:
    household.process.send_signal(signal.SIGINT)
    household.process.wait(10)
    assert household.members() == set()


@pytest.mark.parametrize("again", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_while_it_stops_changes_nothing(household: Household, again: signal.Signals) -> None:
    household.process.send_signal(signal.SIGINT)
    until(lambda: household.told["forker"] not in household.members())  # the stubborn one is waited for
    household.process.send_signal(again)
    assert household.process.wait(10) == 0
    assert household.members() == set()
    assert household.line() == "stopped\n"


def test_sigkill_of_the_supervisor_leaves_no_process(household: Household) -> None:
    orphan = int((household.folder / "orphan").read_text())
    assert orphan in household.members()
    household.process.kill()
    until(lambda: household.members() == set(), within_s=5)


def test_an_adopted_orphan_is_reaped(household: Household) -> None:
    orphan = int((household.folder / "orphan").read_text())
    os.kill(orphan, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{orphan}").exists())


def test_the_warden_is_replaced_when_killed(household: Household) -> None:
    def wardens() -> list[int]:
        children = Path(f"/proc/{household.process.pid}/task/{household.process.pid}/children").read_text().split()
        return [int(pid) for pid in children if b"warden.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    (first,) = wardens()
    os.kill(first, signal.SIGKILL)
    until(lambda: wardens() not in ([], [first]))
    household.process.kill()
    until(lambda: household.members() == set(), within_s=5)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit('there is no such option')", "guest ended (exit code 1: there is no such option)"),
        ("print('all rounds are done')", "guest has finished"),
    ],
    ids=["fails", "finishes"],
)
def test_a_guest_that_leaves_before_it_was_ready_takes_nobody_with_it(tmp_path: Path, code: str, said: str) -> None:
    (tmp_path / "guest.log").write_text("words of an earlier life\n")
    house = Household(tmp_path, code)
    try:
        assert house.line() == f"{said}; its log is {tmp_path / 'guest.log'}\n"
        assert house.line() == "all are here\n"
        assert len(house.members()) == 3
    finally:
        house.close()


@pytest.mark.parametrize(("deaths", "pause"), [(0, 0.0), (1, 0.25), (2, 0.5), (5, 4.0), (9, 5.0)])
def test_the_pause_before_the_next_life_grows_to_five_seconds(deaths: int, pause: float) -> None:
    unit = Unit("short", start=lambda: pytest.fail("not in this test"), deaths=deaths)
    unit.note_death(now=100.0)
    assert unit.start_at == 100.0 + pause


def test_a_death_after_a_steady_life_is_mended_at_once(tmp_path: Path) -> None:
    program = Program("short", ("/bin/true",), tmp_path / "short.log")
    unit = Unit("short", start=lambda: Child(program), deaths=7)
    unit.begin()
    child = unit.child
    assert child is not None
    until(lambda: not child.alive)
    unit.note_death(now=child.started + 60)
    assert unit.start_at == child.started + 60
