"""What the SDK costs a step of 10 ms, whatever the server does; medians, printed.

Run as `python -m tests.bench step_time`. Each training is a process of its own that steps with and without the SDK in
turns (see stepping); the ratio is that of its medians, and a figure is the median over processes. At its end a process
finishes its run as every training does, at exit: how long that takes is printed too.
"""

import json
import statistics
import time
from dataclasses import dataclass

from tests.bench.doors import HARMFUL, UP, doors
from tests.bench.host import host
from tests.bench.table import Row, conditions, percentile, show

PROCESSES = 3
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
        process = place.start("-m", "tests.bench.stepping", "--recorded", recorded)
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
    what = "20 phases" if recorded == "phases" else "one step record"
    most = MOST_PHASES if recorded == "phases" else MOST_STEP
    median = Row(
        name=f"10 ms step, {what}, server {server}",
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
    conditions("step_time", f"{PROCESSES} processes for each row, with and without in turns")
    kinds = [("phases", server) for server in (UP, *HARMFUL)] + [("step", UP), ("step", "black-holed")]
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
