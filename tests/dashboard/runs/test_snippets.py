"""What the page offers to paste is run as it stands there, in the frameworks that are installed."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dashboard.runs import snippets
from dashboard.runs.snippets import Snippet
from tests.agents.collector import Collector, Heard, collecting
from tests.agents.framework_runs import RANKS_BEGIN, RANKS_END, counts, needs, said, train

REPOSITORY = Path(__file__).parents[3]
AROUND_PLAIN = """
import time
model = None
def train(model): time.sleep(0.001)
def encode(model): return b"x" * 100
def send(blob): assert len(blob) == 100
"""
AROUND_TORCHRUN = """
import torch
import torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [torch.ones(4, 8)] * 5
def loss_of(made): return made.square().mean()
"""


def recorded(
    collector: Collector, folder: Path, text: str, *command: str, package: str = "roundwatch"
) -> dict[str, Heard]:
    """What each worker recorded of a training in a file of its own, by its name."""
    file = folder / "training.py"
    file.write_text(text)
    send = {"ROUNDWATCH_URL": collector.url, "ROUNDWATCH_TOKEN": "t", "ROUNDWATCH_SPOOL": str(folder / "spool")}
    done = subprocess.run(
        [sys.executable, "-m", package, "run", "--", sys.executable, *command, str(file)],
        env={**os.environ, **send, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        cwd=folder, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {heard.identity["worker"]: heard for heard in collector.workers()}


def test_the_plain_loop(tmp_path: Path) -> None:
    with collecting() as collector:
        (heard,) = recorded(collector, tmp_path, AROUND_PLAIN + snippets.PLAIN.code).values()
    assert counts(heard) == {"train": 20, "encode": 20, "upload": 20}
    assert said(heard, "begin")["rounds"] == 20
    assert said(heard, "finish") == {"state": "finished"}


def test_steps_of_torchrun(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed here")
    ranks = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    body = RANKS_BEGIN + AROUND_TORCHRUN + snippets.TORCHRUN.code + RANKS_END
    with collecting() as collector:
        workers = recorded(collector, tmp_path, body, *ranks)
    assert sorted(workers) == ["rank-0", "rank-1"]
    for heard in workers.values():
        assert counts(heard) >= Counter(forward=5, backward=5, allreduce=5, optimizer=5, step=5)
        assert said(heard, "finish") == {"state": "finished"}


@pytest.mark.parametrize(
    ("snippet", "steps"),
    [
        pytest.param(snippets.LIGHTNING, 12, marks=needs("lightning"), id="lightning"),
        pytest.param(snippets.TRANSFORMERS, 8, marks=needs("transformers"), id="transformers"),
    ],
)
def test_a_callback_tells_of_a_training(snippet: Snippet, steps: int, tmp_path: Path) -> None:
    with collecting() as collector:
        (heard,) = train(collector, tmp_path, snippet.key, snippet.code)
    assert heard.identity["project"] == "my-project"
    assert counts(heard)["step"] == steps
    assert said(heard, "finish") == {"state": "finished"}


def test_each_has_words_of_its_own_and_names_one_project() -> None:
    assert len({one.key for one in snippets.ALL}) == len({one.name for one in snippets.ALL}) == len(snippets.ALL) == 4
    assert all('"my-project"' in one.code and one.about for one in snippets.ALL)
