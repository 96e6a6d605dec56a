"""A training as one side of `rivals` records it: what `rivals` starts, in a process of its own for each side.

`train(SIDE)` steps as often as it is told to through the socket at BENCH_SOCKET, and tells in lines of JSON what that
took; in between it waits for its next turn, in the middle of its loop. Each side is written as its own documentation
has it, and imports its package when it begins: the others go without.
"""

import itertools
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from tests.bench.model import Training, alone


class Turns(IterableDataset[Any]):
    """The training's data: the same batch again and again, as often as it is told to."""

    def __init__(self, training: Training) -> None:
        self._batch = training.batch
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(os.environ["BENCH_SOCKET"])
        self._orders = self._connection.makefile()
        self._began = time.perf_counter()

    def __iter__(self) -> Iterator[Any]:
        """Begins once the side has; a step lasts from one batch asked for to the next, and 0 steps are the end."""
        begun_s = time.perf_counter() - self._began
        self._tell(pid=os.getpid(), begin_s=begun_s)
        while count := int(self._orders.readline()):
            cpu, stamps = time.process_time(), [time.perf_counter_ns()]
            for _ in range(count):
                yield self._batch
                stamps.append(time.perf_counter_ns())
            lasted = [after - before for before, after in itertools.pairwise(stamps)]
            self._tell(lasted=lasted, cpu_s=time.process_time() - cpu)
        self._tell(ended=time.monotonic())

    def _tell(self, **what: object) -> None:
        self._connection.sendall(json.dumps(what).encode() + b"\n")


def nothing(training: Training, turns: Turns) -> None:
    """A loop that nobody records."""
    for _ in DataLoader(turns, batch_size=None):
        training.step()


def watched(training: Training, turns: Turns) -> None:
    """Roundwatch's three lines for data-parallel training."""
    import roundwatch

    run = roundwatch.init(project="bench")
    run.watch_ddp(training.model)
    for _ in run.steps(DataLoader(turns, batch_size=None)):
        training.step()


def phased(training: Training, turns: Turns) -> None:
    """Roundwatch's phases, around each part of a step."""
    import roundwatch

    run = roundwatch.init(project="bench")
    for _ in DataLoader(turns, batch_size=None):
        with run.step():
            training.optimizer.zero_grad()
            with run.phase("forward"):
                loss = training.loss()
            with run.phase("backward"):
                loss.backward()
            with run.phase("optimizer"):
                training.optimizer.step()


def logged(training: Training, turns: Turns) -> None:
    """Roundwatch telling what wandb is told, and nothing else."""
    import roundwatch

    run = roundwatch.init(project="bench")
    for step, _ in enumerate(DataLoader(turns, batch_size=None)):
        training.step()
        run.log(numbers(step))


def wandb_logged(training: Training, turns: Turns) -> None:
    """Weights & Biases with one `log` a step; its mode comes from the environment."""
    import wandb

    run = wandb.init(project="bench")
    for step, _ in enumerate(DataLoader(turns, batch_size=None)):
        training.step()
        run.log(numbers(step))
    run.finish()


def traced(training: Training, turns: Turns) -> None:
    """TraceML as it is told of a loop of one's own, under its launcher."""
    import traceml_ai as traceml

    traceml.init(mode="auto")
    for _ in DataLoader(turns, batch_size=None):
        with traceml.trace_step(training.model):
            training.step()


def numbers(step: int) -> dict[str, float]:
    """Five numbers that need no waiting for a device."""
    return {"loss": 1 / (step + 1), "lr": 1e-6, "norm": step / 7, "rate": step / 3, "epoch": step / 100}


SIDES: dict[str, Callable[[Training, Turns], None]] = {
    "nothing": nothing,
    "nothing, once more": nothing,
    "roundwatch, watch_ddp": watched,
    "roundwatch, phases": phased,
    "roundwatch, five numbers": logged,
    "wandb": wandb_logged,
    "traceml-ai": traced,
}


def train(side: str) -> None:
    """Trains as that side has it; BENCH_ROWS are in each batch."""
    with alone():
        training = Training(int(os.environ["BENCH_ROWS"]))
        SIDES[side](training, Turns(training))
