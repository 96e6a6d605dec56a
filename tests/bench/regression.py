"""How well a run that is worse than its project's own is found, and others left alone; a seeded study, printed.

Run as `python -m tests.bench regression [--runs N]`. Each figure is of that many runs, each beside as many earlier ones
as are told, whose median rounds vary by themselves from run to run; it is healthy, or takes 1.5 times as long.
The simpler rule is three sample deviations above the mean.
"""

import argparse

import numpy as np

from ingest.detection.facts import Floats
from ingest.detection.regression import Compared, RunFigures, judge
from tests.bench import noises
from tests.bench.table import Row, conditions, show

BEFORE = (5, 7, 10)
LONGER = 1.5
MOST_FALSE, LEAST_FOUND = 0.01, 0.9
NOISES = {
    "CV 2 %": (noises.independent(0.02), True),
    "CV 5 %": (noises.independent(0.05), True),
    "heavy tails, CV 5 %": (noises.heavy(0.05), True),
    "CV 10 %": (noises.independent(0.10), False),
    "heavy tails, CV 10 %": (noises.heavy(0.10), False),
    "CV 20 %": (noises.independent(0.20), False),
    "drift to twice as long": (noises.drifting(0.05), False),
}


def told(walls: Floats) -> bool:
    """Whether the last of these runs, by their median rounds in seconds, is called worse."""
    runs = [RunFigures(run=str(at), name=str(at), rounds=20, round_s=wall) for at, wall in enumerate(walls.tolist())]
    return bool(judge(Compared(own=runs[-1], earlier=tuple(runs[:-1]), group="", since_ns=0)))


def simple(walls: Floats) -> bool:
    """Three sample deviations above the mean of those before."""
    return bool(walls[-1] > walls[:-1].mean() + 3 * walls[:-1].std(ddof=1))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000, help="of each sort (default: 2000)")
    count = parser.parse_args().runs
    conditions("regression", f"{count} runs of each sort")
    for at, (name, (noise, promised)) in enumerate(NOISES.items()):
        for before in BEFORE:
            dice = np.random.default_rng([at, before])
            walls = [50.0 * noise(dice, before + 1, 1)[:, 0] for _ in range(count)]
            slower = [np.append(each[:-1], LONGER * each[-1]) for each in walls]
            false, found = (np.mean([told(each) for each in several]) for several in (walls, slower))
            beside = 100 * np.mean([simple(each) for each in walls])
            show([
                Row(
                    name=f"{name}, {before} runs before: healthy ones told of (three deviations: {beside:.1f} %)",
                    ours=100 * float(false), unit="%", most=100 * MOST_FALSE,
                ),
                Row(
                    name=f"{name}, {before} runs before: found where rounds take 1.5 times as long",
                    ours=float(found), least=LEAST_FOUND if promised else None,
                ),
            ])  # fmt: skip


if __name__ == "__main__":
    main()
