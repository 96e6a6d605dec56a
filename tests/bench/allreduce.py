"""What the SDK costs eight ranks that wait for each other in every step: mean and tail, printed.

Run as `python -m tests.bench allreduce [--seconds N]`. The ranks are processes that all-reduce 1 MiB by torch's gloo,
with and without the SDK in turns (see reducing). Where torch is not installed there is nothing to print.
"""

import argparse
import importlib.util
import json
import statistics
import tempfile
from pathlib import Path

from tests.bench.doors import UP, doors
from tests.bench.host import Host, host
from tests.bench.table import Row, conditions, percentile, show

RANKS = 8
MOST_MEAN, MOST_TAIL = 1.005, 1.01


def reduce(place: Host, seconds: float) -> dict[str, list[float]]:
    """Milliseconds of rank 0's steps with and without the SDK."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--ranks", str(RANKS), "--meeting", str(Path(folder) / "meeting"), "--seconds", str(seconds)]
        ranks = [place.start("-m", "tests.bench.reducing", "--rank", str(rank), *options) for rank in range(RANKS)]
        try:
            outputs = [rank.communicate(timeout=seconds + 60)[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
    if any(rank.returncode for rank in ranks):
        raise SystemExit(f"a rank failed: {[rank.returncode for rank in ranks]}")
    return {which: [ns / 1e6 for ns in lasted] for which, lasted in json.loads(outputs[0]).items()}


def rows(found: dict[str, list[float]]) -> list[Row]:
    """Mean, median and tails of the steps with the SDK, beside those without."""
    ours, bare = found["with"], found["without"]
    return [
        Row(
            name="all-reduce step, mean",
            ours=statistics.mean(ours),
            reference=statistics.mean(bare),
            unit="ms",
            most=MOST_MEAN,
        ),
        Row(name="all-reduce step, median", ours=statistics.median(ours), reference=statistics.median(bare), unit="ms"),
        *(
            Row(
                name=f"all-reduce step, p{100 * share:g}",
                ours=percentile(ours, share),
                reference=percentile(bare, share),
                unit="ms",
                most=most,
            )
            for share, most in ((0.99, None), (0.999, MOST_TAIL))
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=200)
    options = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed: no all-reduce to measure (pip install torch)")
        return
    with doors() as urls, host(urls[UP]) as place:
        conditions("allreduce", f"{RANKS} ranks, 1 MiB by gloo", f"{options.seconds:g} s")
        found = reduce(place, options.seconds)
    print(f"{len(found['with']):,} steps with, {len(found['without']):,} without")
    show(rows(found))


if __name__ == "__main__":
    main()
