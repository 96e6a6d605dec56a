"""How a training that forks, uses threads and asyncio is told of at its end, whatever that is, and what killed it."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from roundwatch.killings import Killings
from roundwatch.life import UNKNOWN
from tests.agents import cgroups
from tests.agents.collector import Collector, Heard, until
from tests.agents.conftest import Site
from tests.agents.fakes.kernel import Kernel

# Two forked loaders that use what they inherited, three threads and two tasks with phases of their own; then the end.
BUSY = """
import asyncio, multiprocessing, os, signal, sys, threading
import roundwatch
run = roundwatch.init("p", worker="w")

def load(queue):
    with run.phase("child"):
        run.log(child=1)
        queue.put(os.getpid())
    signal.pause()  # until it is ended with its parent, or by it

def aside(name):
    with run.phase("aside", who=name):
        pass

async def task(name):
    with run.phase("task", who=name):
        await asyncio.sleep(0)

async def tasks():
    await asyncio.gather(task(0), task(1))

fork = multiprocessing.get_context("fork")
queue = fork.Queue()
loaders = [fork.Process(target=load, args=(queue,), daemon=True) for _ in range(2)]
with run.round(0):
    with run.phase("data"):
        for loader in loaders: loader.start()
        for _ in loaders: queue.get(timeout=30)
    threads = [threading.Thread(target=aside, args=(number,)) for number in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    asyncio.run(tasks())
with run.round(1), run.phase("train"):
    print(*(loader.pid for loader in loaders), flush=True)
    exec(sys.argv[1])
"""
WAIT = "signal.pause()"


def end(heard: Heard) -> tuple[str, str | None]:
    """The last turn of its life as (state or "gone", the error or reason)."""
    *_, last = heard.of("lifecycle")
    data = last["data"]
    return (data["state"], data.get("error")) if last["what"] == "finish" else ("gone", data["reason"])


@pytest.mark.parametrize(
    ("ending", "sent", "code", "told", "train"),
    [
        ("pass", None, 0, ("finished", None), "ok"),
        ("raise ValueError('diverged')", None, 1, ("failed", "ValueError: diverged"), "error"),
        (WAIT, signal.SIGTERM, -signal.SIGTERM, ("killed", None), "aborted"),
        ("os._exit(3)", None, 3, ("gone", UNKNOWN), "aborted"),
        (WAIT, signal.SIGKILL, -signal.SIGKILL, ("gone", UNKNOWN), "aborted"),
    ],
    ids=["end", "exception", "SIGTERM", "os._exit", "SIGKILL"],
)
def test_a_busy_trainings_records_and_state_are_right_however_it_ends(
    site: Site, collector: Collector, ending: str, sent: signal.Signals | None, code: int, told: object, train: str
) -> None:
    site.shipper()
    training = site.python(BUSY, ending)
    assert training.stdout is not None
    loaders = [int(pid) for pid in training.stdout.readline().split()]
    try:
        if sent is not None:
            training.send_signal(sent)
        assert training.wait(20) == code
        # Its forks may go on: they are not the training, and keep nobody from seeing that it is gone.
        until(lambda: set(collector.worker().turns()) & {"finish", "gone"}, "the end has arrived")
    finally:
        for pid in loaders:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    heard = collector.worker()
    assert end(heard) == told
    assert heard.whole()
    assert not heard.conflicts
    assert sorted(row["name"] for row in heard.phases()) == ["aside"] * 3 + ["data"] + ["task"] * 2 + ["train"]
    assert [row["state"] for row in heard.phases("train")] == [train]
    assert {row["state"] for row in heard.phases() if row["name"] != "train"} == {"ok"}
    assert sorted(row["attrs"]["who"] for row in heard.phases("aside")) == [0, 1, 2]
    assert not [row for row in heard.of("sample") if row["metric"]["name"] == "child"], "a fork is silent"
    assert not heard.last["open"]


GREEDY = """
import os, sys, time
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
import roundwatch
run = roundwatch.init("p", worker="w")
with run.round(0), run.phase("data"):
    pass
with run.round(1), run.phase("load"):
    print("ready", flush=True)
    while not Path(sys.argv[2]).exists():
        time.sleep(0.01)
    held = []
    while True:
        held.append(bytearray(os.urandom(1 << 20)))
"""


@pytest.fixture
def small() -> Iterator[Path]:
    """A cgroup with little memory and no swap."""
    with cgroups.group("memory", cgroups.MEMORY, cgroups.NO_SWAP) as folder:
        yield folder


def test_a_training_that_the_kernel_kills_for_memory_is_said_to_be_out_of_memory(
    small: Path, site: Site, collector: Collector, tmp_path: Path
) -> None:
    site.shipper()
    go = tmp_path / "go"
    training = site.python(GREEDY, str(small), str(go))
    assert training.stdout is not None
    assert training.stdout.readline() == "ready\n"
    until(lambda: collector.worker().last.get("open"), "the shipper serves it")
    go.touch()
    assert training.wait(60) == -signal.SIGKILL
    until(lambda: "gone" in collector.worker().turns(), "the end has arrived")
    heard = collector.worker()
    state, reason = end(heard)
    assert (state, str(reason).partition(":")[0]) == ("gone", "out of memory")
    assert [(row["name"], row["state"]) for row in heard.phases()] == [("data", "ok"), ("load", "aborted")]
    assert heard.whole()


class Time:
    """A clock of the test's own."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def killings(kernel: Kernel, clock: Time) -> Killings:
    return Killings(77, kernel.paths, clock)


VERSION_2 = "0::/job\n", ("/ /sys/fs/cgroup cgroup2 rw",), "fs/cgroup/job/memory.events", "oom 9\noom_kill {}\n"
VERSION_1 = (
    "4:memory:/job\n",
    ("/ /sys/fs/cgroup/memory cgroup memory",),
    "fs/cgroup/memory/job/memory.oom_control",
    "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n",
)


@pytest.mark.parametrize("version", [VERSION_2, VERSION_1], ids=["2", "1"])
def test_only_a_killing_in_the_same_group_a_moment_ago_is_taken_for_the_reason(
    tmp_path: Path, version: tuple[str, tuple[str, ...], str, str]
) -> None:
    group, mounts, file, text = version
    kernel, clock = Kernel(tmp_path), Time()
    kernel.proc("77/cgroup", group)
    kernel.mounts(*mounts)
    kernel.sys(file, text.format(4))
    kernel.proc("vmstat", "oom_kill 0\n")
    watched = killings(kernel, clock)
    kernel.proc("vmstat", "oom_kill 1\n")
    assert watched.reason() == UNKNOWN, "a killing elsewhere on the host, and those before it began, are no reason"
    kernel.sys(file, text.format(5))
    assert watched.reason().startswith("out of memory: ")
    assert "its cgroup" in watched.reason()
    clock.now += 5
    watched.look()
    assert watched.reason().startswith("out of memory"), "it takes a while to be gone"
    clock.now += 60
    assert watched.reason() == UNKNOWN, "that was another's, long ago"


def test_without_a_group_that_counts_the_hosts_killings_are_told_as_the_hosts(tmp_path: Path) -> None:
    kernel, clock = Kernel(tmp_path), Time()
    assert killings(kernel, clock).reason() == UNKNOWN
    kernel.proc("vmstat", "pgfault 7\noom_kill 3\n")
    watched = killings(kernel, clock)
    kernel.proc("vmstat", "pgfault 9\noom_kill 4\n")
    assert "this host" in watched.reason()
