"""One rank of an all-reduce loop, with and without the SDK in turns: what allreduce starts eight times.

While the loop goes without, rank 0 has the shipper stopped: what shipping costs falls on the recorded loop alone.
"""

import argparse
import json
import os
import signal
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

import roundwatch
from roundwatch.shipper import destination_of
from tests.bench.host import shipper_of

FLOATS = 1 << 18


def timed(step: Callable[[int], None], count: int) -> list[int]:
    """Nanoseconds from one step's end to the next one's, of so many steps."""
    found, before = [], time.perf_counter_ns()
    for number in range(count):
        step(number)
        now = time.perf_counter_ns()
        found.append(now - before)
        before = now
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--meeting", required=True, help="a file in which the ranks find each other")
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--steps", type=int, default=100, help="of a turn")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{options.meeting}", rank=options.rank, world_size=options.ranks
    )
    run = roundwatch.init("bench", run_id="allreduce", rank=options.rank)
    gradient = torch.ones(FLOATS)

    def bare(_: int) -> None:
        dist.all_reduce(gradient)
        gradient.div_(options.ranks)

    def recorded(number: int) -> None:
        with run.step():
            with run.phase("allreduce", process_group="world", seq=number):
                dist.all_reduce(gradient)
            gradient.div_(options.ranks)

    found: dict[str, list[int]] = {"without": [], "with": []}
    shipper = shipper_of(destination_of(dict(os.environ))) if options.rank == 0 else 0
    go_on, deadline, turn = torch.ones(1), time.monotonic() + options.seconds, 0
    while go_on.item():
        which = ("without", "with", "with", "without")[turn % 4]
        if shipper:
            os.kill(shipper, signal.SIGSTOP if which == "without" else signal.SIGCONT)
        dist.barrier()
        lasted = timed(bare if which == "without" else recorded, options.steps)
        if turn >= 2:  # the first of each kind fill caches
            found[which] += lasted
        turn += 1
        go_on[0] = time.monotonic() < deadline or turn % 4 != 2
        dist.broadcast(go_on, 0)
    if shipper:
        os.kill(shipper, signal.SIGCONT)
        print(json.dumps(found), flush=True)
    run.finish()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
