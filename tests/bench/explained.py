"""How much of a training's wall time its recorded phases explain, by worker, or by framework; printed.

Run as `python -m tests.bench explained [--rounds N]`. The example runs as it comes; so does what the agents' README
shows of each framework that is installed, with small models. A worker's wall time is that of its rounds; explained is
what at least one of its phases covers of it.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.agents import framework_runs
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
    """The share of each of a worker's rounds that its own phases explain."""
    shares = []
    for row in heard.of("round"):
        if row["ended"]:
            begin = row["begin_ns"]
            phases = [p for p in heard.phases() if p["round"] == row["round"] and p["worker"] is None]
            intervals = [(p["begin_ns"], p["begin_ns"] + p["duration_ns"]) for p in phases]
            shares.append(covered_ns(intervals, begin, begin + row["duration_ns"]) / row["duration_ns"])
    return shares


def by_framework() -> list[Row]:
    """The rounds of each framework's training, together; of Flower, the server's."""
    rows = []
    for framework in ("lightning", "transformers", "accelerate", "torchtitan", "flower"):
        if framework_runs.python_with(framework_runs.PACKAGES.get(framework, framework)) is None:
            print(f"{framework} is not installed here")
            continue
        with collecting() as collector, tempfile.TemporaryDirectory(prefix="roundwatch-bench-") as folder:
            body, fails = framework_runs.readme_lines(framework), framework == "torchtitan"
            (heard,) = framework_runs.train(collector, Path(folder), framework, body, fails=fails)
        rows.append(Row(name=f"{framework}, mean of its rounds", ours=statistics.mean(explained(heard)), least=LEAST))
    return rows


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
    show([*rows, Row(name="the least of all rounds", ours=min(map(min, workers.values()))), *by_framework()])


if __name__ == "__main__":
    main()
