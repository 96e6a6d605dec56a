"""A training process whose every returned call stands in an oracle file: what Postgres must hold afterwards.

Each thread writes one line per returned call with plain os.write: what the kernel took survives SIGKILL. Phases are in
the oracle file itself, rounds in `<oracle>.rounds`; with --everything events are in `<oracle>.events` and numbers given
to `log` in `<oracle>.samples`.
"""

import argparse
import os
import threading
import time
from pathlib import Path

import roundwatch


class Ledger:
    """The files of returned calls."""

    def __init__(self, oracle: Path) -> None:
        self._files = {sort: _opened(oracle, sort) for sort in ("", ".rounds", ".events", ".samples")}

    def note(self, sort: str, *numbers: int) -> None:
        os.write(self._files[sort], " ".join(map(str, numbers)).encode() + b"\n")


def _opened(oracle: Path, sort: str) -> int:
    return os.open(oracle.with_name(oracle.name + sort), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)


def record(
    run: roundwatch.Run, thread: int, ledger: Ledger, stop: threading.Event, pause_s: float, everything: bool
) -> None:
    """Phases numbered from 0 on this thread until stopped; a line `thread number` after each that has ended."""
    number = 0
    while not stop.is_set():
        with run.phase("train", thread=thread, i=number):
            time.sleep(pause_s)
        ledger.note("", thread, number)
        if everything:
            run.event("mark", thread=thread, i=number)
            ledger.note(".events", thread, number)
            run.log({f"count-{thread}": number})
            ledger.note(".samples", thread, number)
        number += 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--oracle", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pause-s", type=float, default=0.005)
    parser.add_argument("--rounds", type=int, default=100_000, help="of half a second each")
    parser.add_argument("--everything", action="store_true")
    options = parser.parse_args()
    ledger = Ledger(options.oracle)
    run = roundwatch.init("faults", run_id=options.run_id, worker=options.worker)
    stop = threading.Event()
    threads = [
        threading.Thread(
            target=record, args=(run, number, ledger, stop, options.pause_s, options.everything), daemon=True
        )
        for number in range(options.threads)
    ]
    for thread in threads:
        thread.start()
    for index in range(options.rounds):
        with run.round(index):
            time.sleep(0.5)
        ledger.note(".rounds", index)
    stop.set()
    for thread in threads:
        thread.join()
    run.finish()


if __name__ == "__main__":
    main()
