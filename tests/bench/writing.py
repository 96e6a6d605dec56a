"""Some workers of a host that record so many records a second and do nothing else: what shipper_cost starts.

All workers are processes of their own, forked before any of them begins; they end when standard input closes.
"""

import argparse
import os
import select
import signal
import sys
import time

import roundwatch


def record(worker: int, per_second: float) -> None:
    """Rounds of a second each: their phases, an event and two numbers, until it is told to end."""
    run = roundwatch.init("bench", run_id="host", rank=worker)
    phases = max(1, round((per_second - 5) / 2))  # two records each, beside a round's two, an event and two numbers
    began, number = time.monotonic(), 0
    while True:
        run.next_round()
        run.event("tick")
        run.log({"loss": 1 / (number + 1), "lr": 0.1})
        for place in range(phases):
            with run.phase("train" if place % 2 else "allreduce"):
                time.sleep(max(0.0, began + number + (place + 1) / phases - time.monotonic()))
        number += 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--records", type=float, required=True, help="a second, of all workers together")
    options = parser.parse_args()
    children = []
    for worker in range(options.workers):
        if (child := os.fork()) == 0:
            sys.stdin.close()
            record(worker, options.records / options.workers)
        children.append(child)
    print("recording", flush=True)
    select.select([sys.stdin], [], [])
    for child in children:
        os.kill(child, signal.SIGTERM)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
