"""Samples this host and some processes for a while; prints how many readings that were a second, for shipper_cost."""

import argparse
import os
import select
import sys
import threading
import time

from roundwatch.samplers import host_threads, process_samplers
from roundwatch.samplers.base import Reading
from roundwatch.samplers.loop import SamplerLoop, period


def workers(count: int) -> list[int]:
    """Processes that wait until standard input of this one closes, with which they end."""
    read, _ = os.pipe()
    children = []
    for _ in range(count):
        if (child := os.fork()) == 0:
            select.select([read], [], [])
            os._exit(0)
        children.append(child)
    return children


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    children = workers(options.workers)
    of_processes = [sampler for child in children for sampler in process_samplers(child)]
    counted, lock = [0, 0.0], threading.Lock()

    def count(readings: list[Reading], _: int) -> None:
        began = time.thread_time()
        with lock:
            counted[0] += len(readings) + sum(len(list(sampler.read())) for sampler in of_processes)
            counted[1] += time.thread_time() - began

    loop = SamplerLoop(host_threads(), count, period())
    began, used = time.monotonic(), time.process_time()
    loop.start()
    time.sleep(options.seconds)
    loop.stop()
    took = time.monotonic() - began
    share = 100 * (time.process_time() - used) / took
    print(
        f"samplers alone: {share:.2f} % of a core, of it the processes {100 * counted[1] / took:.2f}", file=sys.stderr
    )
    print(counted[0] / took)
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
