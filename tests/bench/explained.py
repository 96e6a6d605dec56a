"""How much of the example training's wall time its recorded phases explain, by worker; printed.

Run as `python -m tests.bench explained [--rounds N]`. The example runs as it comes. A worker's wall time is that of its
rounds; explained is what at least one of its phases covers of it.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterable

from tests.agents.collector import Heard, collecting
from tests.bench.host import REPOSITORY, host
from tests.bench.table import Row, conditions, show

SCRIPT = REPOSITORY / "agents" / "examples" / "rounds.py"
LEAST = 0.95


def covered_ns(intervals: Iterable[tuple[int, int]], begin: int, end: int) -> int:
    """How much of begin .. end the intervals cover together."""
    total, until = 0, begin
    for first, last in sorted(intervals):
        if min(last, end) > until:
            total += min(last, end) - max(first, until)
            until = min(last, end)
    return total


def explained(heard: Heard) -> list[float]:
    """The share of each of a worker's rounds that its phases explain."""
    shares = []
    for row in heard.of("round"):
        if row["ended"]:
            begin = row["begin_ns"]
            phases = [p for p in heard.phases() if p["round"] == row["round"]]
            intervals = [(p["begin_ns"], p["begin_ns"] + p["duration_ns"]) for p in phases]
            shares.append(covered_ns(intervals, begin, begin + row["duration_ns"]) / row["duration_ns"])
    return shares


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    with collecting() as collector, host(collector.url) as place:
        conditions("explained", f"{options.rounds} rounds of the example")
        run = [sys.executable, "-m", "roundwatch", "run", "--"]
        command = [*run, sys.executable, str(SCRIPT), f"--rounds={options.rounds}"]
        subprocess.run(command, env=place.environment, check=True, stdout=subprocess.DEVNULL)
        workers = {heard.identity["worker"]: explained(heard) for heard in collector.workers()}
    rows = [
        Row(name=f"{worker}, mean of its rounds", ours=statistics.mean(shares), least=LEAST)
        for worker, shares in sorted(workers.items())
    ]
    show([*rows, Row(name="the least of all rounds", ours=min(map(min, workers.values())))])


if __name__ == "__main__":
    main()
