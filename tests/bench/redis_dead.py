"""Ingest with Redis alive, killed, and silent, by turns in one run: a dead Redis may cost no agent its time.

Run as `python -m tests.bench redis_dead`. 128 senders send a request a second each, spread over the second, with a
step's records as `fleet` makes them; Celery worker and watcher run beside, and have lost Redis too. Killed, it refuses
connections; silent, it is stopped and lets every call run into its deadline. Each turn is a run of its own.
"""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from dashboard.project.children import stop_all
from dashboard.project.datadir import DataFolder
from dashboard.project.embedded import Valkey
from tests.bench.fleet import SECOND, Orders
from tests.bench.stage import REPOSITORY, Stage, stage
from tests.bench.table import Row, conditions, percentile, show

SENDERS, SECONDS, TURNS = 128, 6, 3
SETTLE_S = 2.0  # what begins or ends with Redis, tasks of the turn before included, is over by then


class Redis:
    """The stage's Valkey, which can be taken away and given back."""

    def __init__(self, place: Stage) -> None:
        """Begin with the one that runs."""
        self.pid = place.parts["valkey"]

    @contextlib.contextmanager
    def killed(self) -> Iterator[None]:
        """Nobody listens any more; another one starts at the end."""
        os.kill(self.pid, signal.SIGKILL)
        try:
            yield
        finally:
            valkey = Valkey(DataFolder(Path(os.environ["ROUNDWATCH_DATA"])))
            self._child = valkey.start()
            self.pid = self._child.pid
            deadline = time.monotonic() + 10
            while not valkey.ready():
                if time.monotonic() > deadline:
                    raise SystemExit("Valkey does not come back")
                time.sleep(0.02)

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Connections are taken and nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """End the one that this started last."""
        if hasattr(self, "_child"):
            stop_all([self._child], within_s=5)


def turn(place: Stage) -> list[float]:
    """Seconds that each request of one turn took."""
    began_ns = time.time_ns() + 3 * SECOND
    orders = Orders(place.url, place.token, f"turn-{began_ns}", SENDERS, 1, SECONDS, began_ns, spread_s=1.0)
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.fleet"],
        cwd=REPOSITORY, input=json.dumps(asdict(orders)) + "\n", stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    told = json.loads(done.stdout)
    if told["refused"]:
        raise SystemExit(f"{len(told['refused'])} requests were not answered as stored: {told['refused'][0]}")
    return [float(seconds) for seconds in told["seconds"]]


def main() -> None:
    """Measure by turns, and print each state beside the turns with Redis right before it."""
    conditions("redis_dead", f"{SENDERS} requests a second, {TURNS} turns of {SECONDS} s each")
    found: dict[str, list[tuple[list[float], list[float]]]] = {"killed": [], "silent": []}
    with stage(tasks=True) as place:
        redis = Redis(place)
        try:
            turn(place)  # fills caches
            for _ in range(TURNS):
                for state, pairs in found.items():
                    time.sleep(SETTLE_S)
                    alive = turn(place)
                    with getattr(redis, state)():
                        pairs.append((turn(place), alive))
        finally:
            redis.close()
    show(row for state, pairs in found.items() for row in rows(state, pairs))


def rows(state: str, pairs: list[tuple[list[float], list[float]]]) -> Iterator[Row]:
    """Medians over the turns of what one state cost."""
    for name, share, most in (("p50", 0.5, None), ("p99", 0.99, 1.2)):
        figures = [(percentile(dead, share) * 1e3, percentile(alive, share) * 1e3) for dead, alive in pairs]
        ours, reference = (statistics.median(column) for column in zip(*figures, strict=True))
        ratio = statistics.median(dead / alive for dead, alive in figures)
        yield Row(
            name=f"{name} of ingest, Redis {state}", ours=ours, unit="ms", reference=reference, ratio=ratio, most=most
        )


if __name__ == "__main__":
    main()
