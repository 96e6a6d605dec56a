"""A training process whose every returned call stands in an oracle file: what Postgres must hold afterwards.

Each thread writes one line per returned call with plain os.write: what the kernel took survives SIGKILL.
"""

import argparse
import os
import threading
import time
from pathlib import Path

import roundwatch


def record(run: roundwatch.Run, thread: int, oracle: int, stop: threading.Event, pause_s: float) -> None:
    """Phases numbered from 0 on this thread until stopped; a line `thread number` after each that has ended."""
    number = 0
    while not stop.is_set():
        with run.phase("train", thread=thread, i=number):
            time.sleep(pause_s)
        os.write(oracle, f"{thread} {number}\n".encode())
        number += 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--oracle", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pause-s", type=float, default=0.005)
    parser.add_argument("--rounds", type=int, default=1200, help="of half a second each")
    options = parser.parse_args()
    oracle = os.open(options.oracle, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    run = roundwatch.init("faults", run_id=options.run_id, worker=options.worker)
    stop = threading.Event()
    threads = [
        threading.Thread(target=record, args=(run, number, oracle, stop, options.pause_s), daemon=True)
        for number in range(options.threads)
    ]
    for thread in threads:
        thread.start()
    for index in range(options.rounds):
        with run.round(index):
            time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    run.finish()


if __name__ == "__main__":
    main()
