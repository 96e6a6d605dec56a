"""What the SDK costs a step of 10 ms, whatever the server does; medians, printed.

Run as `python -m tests.bench step_time [--only parts]`. Each training is a process of its own that steps with and
without the SDK in turns (see stepping, dissecting); the ratio is that of its medians, and a figure is the median over
processes. At its end a process finishes its run as every training does, at exit: how long that takes is printed too.
"""

import argparse
import importlib.util
import json
import statistics
import time
from dataclasses import dataclass

from tests.bench.doors import HARMFUL, UP, doors
from tests.bench.host import host
from tests.bench.table import Row, conditions, percentile, show

PROCESSES = 3
RECORDED = {"phases": "20 phases", "step": "one step record", "parts": "one step record of watch_ddp"}
MOST_PHASES, MOST_STEP, MOST_EXIT_S = 1.01, 1.002, 2.0


@dataclass(frozen=True)
class Found:
    """One training: medians of its steps in ms, the same of the slowest hundredth, and seconds to its end."""

    ours: float
    bare: float
    ours_p99: float
    bare_p99: float
    exit_s: float


def training(url: str, recorded: str) -> Found:
    """One training that records for the server at `url`."""
    with host(url) as place:
        how = ["dissecting"] if recorded == "parts" else ["stepping", "--recorded", recorded]
        process = place.start("-m", f"tests.bench.{how[0]}", *how[1:])
        output, _ = process.communicate(timeout=60)
        ended = time.monotonic()
        if process.returncode:
            raise SystemExit(f"the training failed: {process.returncode}")
    said = json.loads(output)
    ours, bare = ([ns / 1e6 for ns in said[which]] for which in ("with", "without"))
    medians = statistics.median(ours), statistics.median(bare)
    return Found(*medians, percentile(ours, 0.99), percentile(bare, 0.99), ended - said["ended"])


def rows(server: str, recorded: str, found: list[Found]) -> list[Row]:
    """The step's row, and for what it tells the row of its slowest hundredth."""
    most = MOST_PHASES if recorded == "phases" else MOST_STEP
    median = Row(
        name=f"10 ms step, {RECORDED[recorded]}, server {server}",
        ours=statistics.median(one.ours for one in found),
        reference=statistics.median(one.bare for one in found),
        ratio=statistics.median(one.ours / one.bare for one in found),
        unit="ms",
        most=most,
    )
    slowest = Row(
        name="    its slowest hundredth",
        ours=statistics.median(one.ours_p99 for one in found),
        reference=statistics.median(one.bare_p99 for one in found),
        ratio=statistics.median(one.ours_p99 / one.bare_p99 for one in found),
        unit="ms",
    )
    return [median, slowest]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=list(RECORDED), help="of these steps alone")
    options = parser.parse_args()
    conditions("step_time", f"{PROCESSES} processes for each row, with and without in turns")
    kinds = [("phases", server) for server in (UP, *HARMFUL)] + [("step", UP), ("step", "black-holed")]
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed: no step of watch_ddp to measure (pip install torch)")
    else:
        kinds += [("parts", UP), ("parts", "black-holed")]
    if options.only:
        kinds = [kind for kind in kinds if kind[0] == options.only]
    found: dict[tuple[str, str], list[Found]] = {kind: [] for kind in kinds}
    with doors() as urls:
        for _ in range(PROCESSES):
            for kind in kinds:
                found[kind].append(training(urls[kind[1]], kind[0]))
    table = [row for (recorded, server), trainings in found.items() for row in rows(server, recorded, trainings)]
    exits = [one.exit_s for trainings in found.values() for one in trainings]
    table.append(
        Row(name="from the last step to the process's end, the longest", ours=max(exits), unit="s", most=MOST_EXIT_S)
    )
    show(table)


if __name__ == "__main__":
    main()
