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
import time

import roundwatch
from roundwatch.shipper import destination_of
from tests.bench.host import shipper_of
from tests.bench.model import Training, alone
from tests.bench.timing import timed

UNWATCHED_RATE = 100  # how often DDP takes its own times unless it is told otherwise


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
    with alone():
        training = Training()
        run = roundwatch.init("bench", run_id="steps", worker=f"w-{os.getpid()}")
        recorded, shipper = Recorded(run, training), shipper_of(destination_of(dict(os.environ)))
        turns = {"without": lambda count: timed(training.step, count), "with": recorded.turn}
        found: dict[str, list[int]] = {which: [] for which in turns}
        for turn in range(options.turns + 1):
            for which in random.sample(list(found), 2):
                os.kill(shipper, signal.SIGSTOP if which == "without" else signal.SIGCONT)
                lasted = turns[which](options.steps)
                found[which] += lasted if turn else []  # the first one fills caches
        os.kill(shipper, signal.SIGCONT)
        print(json.dumps({**found, "ended": time.monotonic()}), flush=True)  # finish() is left to the exit


if __name__ == "__main__":
    main()
