"""When a main thread is known to be in a call, and when it is not; a process that is asked all the time lives."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roundwatch import stacks
from roundwatch.asking import Asked
from roundwatch.stuck import MainThread
from tests.agents.collector import until
from tests.agents.conftest import SOURCES

BIT = f"{1 << (stacks.SIGNAL - 1):016x}"
NONE = "0" * 16


def told(folder: Path, *, state: str = "S", ticks: int = 7, pending: str = NONE, blocked: str = NONE) -> None:
    """What the kernel tells of a process: its name may hold anything."""
    task = folder / "task" / folder.name
    task.mkdir(parents=True, exist_ok=True)
    (task / "stat").write_text(f"1 (a) S 1 (b) {state} {'0 ' * 10}{ticks} 0 0 0\n")
    (task / "status").write_text(f"SigPnd:\t{NONE}\nShdPnd:\t{pending}\nSigBlk:\t{blocked}\nSigCgt:\t{BIT}\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "4711"


def soon(main: MainThread) -> bool:
    """Whether it is stuck within three times as long as it takes to know."""
    deadline = time.monotonic() + 0.3
    while time.monotonic() < deadline:
        if main.stuck():
            return True
        time.sleep(0.005)
    return False


def test_one_that_sleeps_on_is_in_a_call(folder: Path) -> None:
    told(folder)
    main = MainThread(folder)
    assert not main.stuck(), "one look tells nothing"
    assert soon(main)


def test_one_that_uses_cpu_and_does_not_answer_is_in_a_call(folder: Path) -> None:
    told(folder, state="R", ticks=7)
    main = MainThread(folder)
    assert not main.stuck()
    told(folder, state="R", ticks=11)
    assert not main.stuck()
    told(folder, state="R", ticks=12)
    assert main.stuck()


@pytest.mark.parametrize(
    ("state", "pending", "blocked", "why"),
    [
        ("R", NONE, NONE, "its main thread got no CPU"),
        ("S", BIT, NONE, "its main thread got no CPU"),
        ("S", BIT, BIT, "its main thread blocks SIGURG"),
        ("T", BIT, NONE, "it is stopped"),
        ("D", NONE, NONE, "it waits in the kernel, for a disk or a device"),
    ],
)
def test_one_that_may_be_anywhere_is_not_and_it_is_said_why(
    folder: Path, state: str, pending: str, blocked: str, why: str
) -> None:
    told(folder, state=state, pending=pending, blocked=blocked)
    main = MainThread(folder)
    assert not soon(main)
    assert main.standing() == why


def test_one_that_is_gone_is_not(folder: Path) -> None:
    assert not soon(MainThread(folder))
    assert MainThread(folder).standing() == ""


# Its threads come, recurse and go while its main thread runs Python: frames that are read meanwhile end it at once.
CHURNING = """
import threading
from roundwatch import stacks
print(*map(int, stacks.offer()), flush=True)
def deep(n):
    f = eval("lambda x: x")
    return f(n) if n <= 0 else deep(n - 1) + 1
def churn():
    while True:
        threads = [threading.Thread(target=deep, args=(300,)) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
threading.Thread(target=churn, daemon=True).start()
while True: deep(400)
"""


def test_a_process_whose_threads_come_and_go_lives_however_often_it_is_asked() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    command = [sys.executable, "-c", CHURNING]
    with subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE) as process:
        descriptor = os.pidfd_open(process.pid)
        try:
            assert process.stdout
            number, fd, others = map(int, process.stdout.readline().split())
            for _ in range(40):
                asked = Asked((number, fd, others), process.pid, descriptor, None, None)
                until(asked.over, "it answers")
                asked.close()
                main, *_ = json.loads(asked.event(1).text)["threads"]
                assert main["frames"]
            assert process.poll() is None
        finally:
            os.close(descriptor)
            process.kill()
