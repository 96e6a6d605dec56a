"""How long `import roundwatch` takes, and `init` for the first time: in processes of their own, in turns, printed.

Run as `python -m tests.bench importing [--times N]`.
"""

import argparse
import statistics
import subprocess
import sys

from tests.bench.host import REPOSITORY, host
from tests.bench.table import Row, conditions, show

NOTHING = "import time; began = time.perf_counter(); {0}; print(time.perf_counter() - began)"
CODES = {
    "import": NOTHING.format("import roundwatch"),
    "init": NOTHING.format("import roundwatch; roundwatch.init('p', mode='offline')"),
    "json": NOTHING.format("import json, dataclasses, pathlib, logging"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    took: dict[str, list[float]] = {name: [] for name in CODES}
    with host("") as place:
        conditions("importing", f"{options.times} processes each")
        for _ in range(options.times + 1):  # the first writes what is compiled
            for name, code in CODES.items():
                command = [sys.executable, "-c", code]
                told = subprocess.check_output(
                    command, env=place.environment, cwd=REPOSITORY, stderr=subprocess.DEVNULL
                )
                took[name].append(1e3 * float(told))
    middle = {name: statistics.median(times[1:]) for name, times in took.items()}
    show(
        [
            Row(name="import roundwatch", ours=middle["import"], unit="ms", most=50),
            Row(
                name="import and init, beside json, dataclasses, pathlib and logging",
                ours=middle["init"],
                unit="ms",
                reference=middle["json"],
            ),
        ]
    )


if __name__ == "__main__":
    main()
