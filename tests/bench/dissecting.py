"""A data-parallel training that steps with and without the SDK, in turns: what step_time starts where torch is there.

A step is that of a DistributedDataParallel over gloo, of this process alone: with the SDK it goes through `run.steps`
and `run.watch_ddp`, without it none of both is there. While it steps without, its shipper is stopped.
"""

import argparse
import itertools
import json
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import roundwatch
from roundwatch.shipper import destination_of
from tests.bench.host import shipper_of
from tests.bench.stepping import STEP_S, timed

WIDTH, LAYERS, LEAST_ROWS = 128, 4, 64
UNWATCHED_RATE = 100  # how often DDP takes its own times unless it is told otherwise


class Training:
    """A model that fits a core's cache, and as many rows in a batch as take 10 ms a step."""

    def __init__(self) -> None:
        layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
        self.model: Any = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.batch = torch.ones(LEAST_ROWS, WIDTH)
        for _ in range(3):
            usual = sorted(timed(self.step, 40))[20] / 1e9
            self.batch = torch.ones(max(LEAST_ROWS, round(len(self.batch) * STEP_S / usual)), WIDTH)

    def step(self) -> None:
        self._optimizer.zero_grad()
        self.model(self.batch).square().mean().backward()
        self._optimizer.step()

    def turn(self, count: int) -> list[int]:
        """Nanoseconds of so many steps."""
        return timed(self.step, count)


class Recorded:
    """The same training with the SDK, which is there only while it steps."""

    def __init__(self, run: roundwatch.Run, training: Training) -> None:
        self._run, self._training = run, training
        self._steps = run.steps(itertools.repeat(training.batch))

    def turn(self, count: int) -> list[int]:
        """Nanoseconds of so many steps, each from the begin of its data to its end."""
        self._run.watch_ddp(self._training.model)
        lasted = timed(self.step, count)
        self._run._watches.pop().close()
        self._training.model._set_ddp_runtime_logging_sample_rate(UNWATCHED_RATE)
        return lasted

    def step(self) -> None:
        """Ends the step before, waits for data, and begins another."""
        next(self._steps)
        self._training.step()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--steps", type=int, default=40, help="of a turn")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{Path(folder) / 'meeting'}", rank=0, world_size=1)
        training = Training()
        run = roundwatch.init("bench", run_id="steps", worker=f"w-{os.getpid()}")
        recorded, shipper = Recorded(run, training), shipper_of(destination_of(dict(os.environ)))
        found: dict[str, list[int]] = {"without": [], "with": []}
        for turn in range(options.turns + 1):
            for which in random.sample(list(found), 2):
                os.kill(shipper, signal.SIGSTOP if which == "without" else signal.SIGCONT)
                lasted = (recorded if which == "with" else training).turn(options.steps)
                found[which] += lasted if turn else []  # the first one fills caches
        os.kill(shipper, signal.SIGCONT)
        print(json.dumps({**found, "ended": time.monotonic()}), flush=True)  # finish() is left to the exit
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
