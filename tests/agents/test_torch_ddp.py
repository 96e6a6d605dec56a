"""A real torchrun over gloo: each step's data, forward, backward, all-reduce and optimizer, from three lines."""

import itertools
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.collector import Collector, Heard

pytest.importorskip("torch", reason="torch is not installed here")
TRAINING = Path(__file__).parent / "ddp_training.py"
STEPS = 6
PARTS = ["data", "forward", "backward", "allreduce", "optimizer", "step"]
NESTED = PARTS[1:5]


def train(collector: Collector, spool: Path, *options: str, ranks: int = 2) -> tuple[dict[str, Heard], str]:
    """What each worker recorded, by its name, and what the ranks printed."""
    environment = {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t", "ROUNDWATCH_SPOOL": str(spool)}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    done = subprocess.run(
        [sys.executable, "-m", "roundwatch", "run", "--", *torchrun, str(TRAINING), f"--steps={STEPS}", *options],
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=90,
    )
    return {heard.identity["worker"]: heard for heard in collector.workers()}, done.stdout


def parts(heard: Heard, number: int) -> dict[str, dict[str, Any]]:
    """A step's phases by name; the last wait for data, which brings none, is not one of them."""
    found: dict[str, dict[str, Any]] = {}
    for row in sorted(heard.phases(), key=lambda row: int(row["begin_ns"])):
        if row["round"] == number:
            found.setdefault(row["name"], row)
    return found


def end(row: dict[str, Any]) -> int:
    return int(row["begin_ns"] + row["duration_ns"])


def check_what_ddp_measured(reduced: list[dict[str, Any]]) -> None:
    told = [row for row in reduced if "comm_s" in row["attrs"]]
    assert len(told) >= STEPS - 1  # of the first backward pass DDP measures nothing
    for row in told:
        comm, hidden = row["attrs"]["comm_s"], row["attrs"]["overlap_s"]
        assert 0 <= hidden <= comm
        # What is not hidden is the phase itself, up to the few instructions between both clocks' readings.
        assert 0.5 < (comm - hidden) / (row["duration_ns"] / 1e9) < 2


@pytest.mark.alone
def test_the_slow_rank_of_a_real_torchrun_is_the_one_that_waits_least(collector: Collector, tmp_path: Path) -> None:
    workers, _ = train(collector, tmp_path, "--slow-rank=1")
    check_what_ddp_measured(workers["rank-0"].phases("allreduce"))
    assert sorted(workers) == ["rank-0", "rank-1"]
    waited: dict[str, float] = {}
    for name, heard in workers.items():
        steps = [parts(heard, number) for number in range(STEPS)]
        assert [list(step) for step in steps] == [["data", "step", *NESTED]] * STEPS
        for step in steps:
            inner = [step[part] for part in NESTED]
            assert {row["parent"] for row in inner} == {step["step"]["start"]}
            assert all(end(before) <= after["begin_ns"] for before, after in itertools.pairwise(inner))
            assert step["step"]["begin_ns"] <= inner[0]["begin_ns"]
            assert end(inner[-1]) <= end(step["step"])
            assert [row["kind"] for row in inner] == ["compute", "compute", "transfer", "compute"]
        waited[name] = statistics.median(step["allreduce"]["duration_ns"] for step in steps) / 1e9
        assert [step["allreduce"]["attrs"]["seq"] for step in steps] == list(range(STEPS))
    assert waited["rank-0"] > 2 * waited["rank-1"], waited


def test_a_communication_hook_of_the_users_is_called_as_without_us(collector: Collector, tmp_path: Path) -> None:
    workers, printed = train(collector, tmp_path, "--hook")
    said = [line.split() for line in printed.splitlines() if line.startswith("buckets")]
    assert len(said) == 2
    assert all(int(words[2]) >= STEPS for words in said), printed
    assert len({words[3] for words in said}) == 1  # the ranks agree on the weights
    assert all(len(heard.phases("allreduce")) == STEPS for heard in workers.values())
