"""The example training: it learns, its phases explain its rounds, and its faults are real."""

import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.collector import Collector, Heard, collecting, until

SCRIPT = Path(__file__).parents[2] / "agents/examples/rounds.py"
SMALL = ["--round-seconds=1.5", "--width=512", "--link-mbit=100", "--batch-rate=40"]
MIB = 1 << 20
TRAINER_PHASES = ["train", "encode", "upload", "wait", "download", "apply", "eval"]
COORDINATOR_PHASES = ["wait", "aggregate", "save", "prepare", "sync"]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


def train(collector: Collector, spool: Path, *options: str) -> dict[str, Heard]:
    """Runs the example to its end; what each worker recorded, by its name."""
    environment = {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t", "ROUNDWATCH_SPOOL": str(spool)}
    subprocess.run(
        [sys.executable, "-m", "roundwatch", "run", "--", sys.executable, str(SCRIPT), *SMALL, *options],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        timeout=90,
    )
    return {heard.identity["worker"]: heard for heard in collector.workers()}


def coverage(heard: Heard, number: int) -> float:
    """The share of a round's wall time that its phases explain; they never overlap here."""
    [whole] = [row for row in heard.of("round") if row["ended"] and row["round"] == number]
    return sum(row["duration_ns"] for row in heard.phases() if row["round"] == number) / whole["duration_ns"]


def logged(heard: Heard, metric: str) -> list[float]:
    return [row["value"] for row in heard.of("sample") if row["metric"]["name"] == metric]


def seconds(heard: Heard, phase: str) -> list[float]:
    return [row["duration_ns"] / 1e9 for row in heard.phases(phase)]


@pytest.mark.alone
def test_it_learns_and_its_phases_explain_its_rounds(collector: Collector, tmp_path: Path) -> None:
    workers = train(collector, tmp_path, "--rounds=3", "--run-id=r-1")
    trainers = [workers.pop(f"trainer-{k}") for k in range(4)]
    assert {heard.identity["run"] for heard in trainers} == {"r-1"}
    for heard in trainers:
        assert [row["name"] for row in heard.phases()] == TRAINER_PHASES * 3
        assert heard.turns() == ["begin", "finish"]
        accuracy = logged(heard, "accuracy")
        assert len(accuracy) == 3
        assert accuracy[-1] > max(accuracy[0], 0.3), accuracy
    assert [row["name"] for row in workers.pop("coordinator").phases()] == COORDINATOR_PHASES * 3
    assert not workers
    for number in range(3):
        assert statistics.mean(coverage(heard, number) for heard in trainers) >= 0.95


@pytest.mark.alone
def test_a_starved_encoder_is_slow(collector: Collector, tmp_path: Path) -> None:
    # Wide enough that an encode lasts several of the periods in which the kernel counts a quota.
    workers = train(collector, tmp_path, "--rounds=2", "--starve-encoder=1", "--width=1024")
    trainers = [workers[f"trainer-{k}"] for k in range(4)]
    starved = statistics.median(seconds(trainers.pop(1), "encode"))
    peers = statistics.median(statistics.median(seconds(heard, "encode")) for heard in trainers)
    assert starved >= 3 * peers, (starved, peers)


def test_a_trainer_that_dies_leaves_an_aborted_phase_and_the_others_go_on(collector: Collector, tmp_path: Path) -> None:
    workers = train(collector, tmp_path, "--rounds=3", "--trainers=3", "--die-in-round=1", "--die-trainer=2")
    dead = workers["trainer-2"]
    assert dead.turns() == ["begin", "gone"]
    last = dead.phases()[-1]
    assert (last["name"], last["round"], last["state"]) == ("train", 1, "aborted")
    for name in ("trainer-0", "trainer-1"):
        assert [row["name"] for row in workers[name].phases()] == TRAINER_PHASES * 3
        assert all(row["state"] == "ok" for row in workers[name].phases())
    asked = [row["attrs"]["trainers"] for row in workers["coordinator"].phases("aggregate")]
    assert asked == [3, 2, 2]


@pytest.mark.parametrize("retain", [True, False])
def test_a_retaining_coordinator_keeps_every_rounds_deltas(collector: Collector, tmp_path: Path, retain: bool) -> None:
    # With the fault the collector runs in the tenth round, and at no other time.
    options = ["--trainers=2", "--round-seconds=0.4", *(["--rounds=12", "--retain"] if retain else ["--rounds=5"])]
    coordinator = train(collector, tmp_path, *options)["coordinator"]
    [model] = {row["data"]["model_bytes"] for row in coordinator.of("lifecycle") if row["what"] == "begin"}
    ends = [row["number"] for row in coordinator.of("round") if row["ended"]]
    memory = [
        row["value"]
        for end in (ends[1], ends[4])
        for row in coordinator.of("sample")
        if row["metric"]["name"] == "process_memory_bytes" and end < row["number"] <= end + 2
    ]
    copies_a_round = (memory[1] - memory[0]) / model / 3
    held = [row["attrs"] for row in coordinator.of("event") if row["name"] == "retained"]
    assert {(told["label"], told["held_by"]) for told in held} == ({("deltas", "a cycle")} if retain else set())
    assert all("['aggregation']['deltas'][" in told["path"] for told in held)
    if retain:
        assert copies_a_round == pytest.approx(2, abs=0.5)
        check_that_clearing_gave_it_back(coordinator)
    else:
        assert copies_a_round < 0.5


def check_that_clearing_gave_it_back(coordinator: Heard) -> None:
    """In round 9 the collector runs: it reports until then what it holds of the rounds before, and not after it."""
    events = coordinator.of("event")
    reported = [(row["round"], row["round"] - row["attrs"]["rounds"]) for row in events if row["name"] == "retained"]
    before = {told for told, kept in reported if kept < 9}
    assert (min(before), max(before) < 10) == (2, True), reported
    # A namespace and a list of deltas for each of nine rounds; what they held need not go back to the kernel.
    [collected] = [row["attrs"]["collected"] for row in events if row["name"] == "gc" and row["round"] == 9]
    assert collected >= 18


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def runs(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_one_that_was_started(end: signal.Signals) -> None:
    environment = {"ROUNDWATCH_MODE": "disabled", "PYTHONPATH": os.pathsep.join(sys.path)}
    launcher = subprocess.Popen(
        [sys.executable, str(SCRIPT), *SMALL, "--rounds=0"], env={**os.environ, **environment}, stdout=subprocess.PIPE
    )
    assert launcher.stdout is not None
    with launcher.stdout:
        launcher.stdout.readline()
        assert launcher.stdout.readline().startswith(b"round 0")
        children = children_of(launcher.pid)
        assert len(children) == 5
        launcher.send_signal(end)
        assert launcher.wait(20) == (128 + end if end == signal.SIGTERM else -end)
        until(lambda: not any(runs(child) for child in children), "all are gone")


@pytest.mark.parametrize("wrong", [["--rounds=-1"], ["--starve-encoder=4"], ["--trainers=0"], ["--link-mbit=0"]])
def test_options_that_make_no_sense_are_refused(wrong: list[str]) -> None:
    answer = subprocess.run(
        [sys.executable, str(SCRIPT), *wrong],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 2
    assert "rounds.py: error:" in answer.stderr


STARVE = """
import sys, time
from federated import starvation

def share(run):
    began = time.perf_counter(), time.process_time()
    run(lambda: sum(range(8_000_000)))
    return (time.process_time() - began[1]) / (time.perf_counter() - began[0])

try:
    starve = getattr(starvation, sys.argv[1])
    starve = starve().starved if sys.argv[1] == "Quota" else starve
except OSError as error:
    print(f"cannot: {error}")
else:
    print(share(starve), share(lambda act: act()))
"""


@pytest.mark.alone
@pytest.mark.parametrize("way", ["Quota", "beside_busy_neighbour"])
def test_starved_work_gets_little_of_a_cpu_and_what_follows_gets_its_share_again(way: str) -> None:
    path = os.pathsep.join([str(SCRIPT.parent), *sys.path])
    answer = subprocess.check_output(
        [sys.executable, "-c", STARVE, way], env={**os.environ, "PYTHONPATH": path}, text=True, timeout=60
    )
    if answer.startswith("cannot"):
        pytest.skip(f"no CPU quota may be set here: {answer}")
    starved, after = map(float, answer.split())
    assert starved < 0.25
    assert after >= 2 * starved
