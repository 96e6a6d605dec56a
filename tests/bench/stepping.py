"""A training that steps with and without the SDK, in turns: what step_time starts; `dissecting` is one with torch.

While it steps without, its shipper is stopped: so all that shipping costs falls on the steps that are recorded.
"""

import argparse
import json
import os
import random
import signal
import time

import numpy as np

import roundwatch
from roundwatch.shipper import destination_of
from tests.bench.host import shipper_of
from tests.bench.timing import STEP_S, timed

PHASES = 20


class Work:
    """A step's twentieth: matrices that fit a core's cache, multiplied as often as that takes half a millisecond."""

    def __init__(self) -> None:
        self._left = np.random.default_rng(0).random((96, 96), dtype=np.float32)
        self._into = np.empty_like(self._left)
        self._times = 1
        began = time.perf_counter()
        for _ in range(2_000):
            self()
        self._times = max(1, round(STEP_S / PHASES / ((time.perf_counter() - began) / 2_000)))

    def __call__(self) -> None:
        for _ in range(self._times):
            np.matmul(self._left, self._left, out=self._into)


def bare(work: Work) -> None:
    """A step that nobody records."""
    for _ in range(PHASES):
        work()


def phased(run: roundwatch.Run, work: Work) -> None:
    """A step of twenty phases."""
    with run.step():
        for _ in range(PHASES):
            with run.phase("forward"):
                work()


def whole(run: roundwatch.Run, work: Work) -> None:
    """A step with one record."""
    with run.step():
        for _ in range(PHASES):
            work()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--recorded", choices=["phases", "step"], required=True)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--steps", type=int, default=40, help="of a turn")
    options = parser.parse_args()
    work = Work()
    run = roundwatch.init("bench", run_id="steps", worker=f"w-{os.getpid()}")
    step = phased if options.recorded == "phases" else whole
    shipper = shipper_of(destination_of(dict(os.environ)))
    timed(lambda: step(run, work), 20)  # fills caches
    found: dict[str, list[int]] = {"without": [], "with": []}
    for _ in range(options.turns):
        for which in random.sample(list(found), 2):
            os.kill(shipper, signal.SIGSTOP if which == "without" else signal.SIGCONT)
            act = (lambda: bare(work)) if which == "without" else (lambda: step(run, work))
            found[which] += timed(act, options.steps)
    os.kill(shipper, signal.SIGCONT)
    print(json.dumps({**found, "ended": time.monotonic()}), flush=True)  # finish() is left to the exit


if __name__ == "__main__":
    main()
