"""The data-parallel training whose steps `step_time` and `rivals` measure, without anything that records them.

Run as `python -m tests.bench.model`: prints as JSON how many rows a batch needs here for a step of 10 ms.
"""

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from tests.bench.timing import STEP_S, timed

WIDTH, LAYERS, LEAST_ROWS = 128, 4, 64


class Training:
    """A model that fits a core's cache; `rows` in a batch, or 0 for as many as take 10 ms a step."""

    def __init__(self, rows: int = 0) -> None:
        layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
        self.model: Any = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.batch = torch.ones(rows or LEAST_ROWS, WIDTH)
        for _ in range(0 if rows else 3):
            # By CPU time, which on a busy machine is still the step's own.
            usual = sorted(timed(self.step, 40, time.process_time_ns))[20] / 1e9
            self.batch = torch.ones(max(LEAST_ROWS, round(len(self.batch) * STEP_S / usual)), WIDTH)

    def loss(self) -> Any:
        """The forward pass."""
        return self.model(self.batch).square().mean()

    def step(self) -> None:
        """All of a step."""
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """A process group over gloo of this process alone, whose computations take one thread."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{Path(folder) / 'meeting'}", rank=0, world_size=1)
        yield
        dist.destroy_process_group()


def main() -> None:
    with alone():
        print(json.dumps(len(Training().batch)))


if __name__ == "__main__":
    main()
