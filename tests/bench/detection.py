"""How well stragglers are found and healthy workers left alone, beside three simpler rules; a seeded study, printed.

Run as `python -m tests.bench detection [--runs N]`. Each run has 40 rounds of four phases, whose durations vary by
themselves. In healthy ones each round with a finding of any phase is counted; in the others one worker (or half of
them) takes twice as long to train from some round on, and counted is who of them is named within three rounds.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ingest.detection.facts import Flags, Floats
from tests.bench import noises
from tests.bench.judging_rules import RULES, ours
from tests.bench.open_phases import while_open
from tests.bench.table import Row, conditions, show

SIZES = (2, 3, 4, 8, 16, 64)
ROUNDS, FIRST_S = 40, (30.0, 2.0, 1.0, 13.0)  # of training, encoding, uploading, applying
SLOW, FROM, WITHIN, LONGER = 0, 24, 3, 2.0
MOST_FALSE, LEAST_FOUND = 0.01, 0.95


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A sort of run: how durations vary, how long its phases take by `scale`, and whether figures are promised."""

    name: str
    noise: noises.Noise
    scale: float = 1.0
    steps: int = 1  # a window: medians of so many
    slow: Callable[[int], int] = lambda _workers: 1
    promised_false: bool = False
    promised_found: bool = False


SETTINGS = (
    Setting(name="CV 10 %", noise=noises.independent(0.10), promised_false=True, promised_found=True),
    Setting(name="CV 5 %", noise=noises.independent(0.05), promised_false=True, promised_found=True),
    Setting(name="heavy tails, CV 10 %", noise=noises.heavy(0.10), promised_false=True, promised_found=True),
    Setting(name="drift to twice as long", noise=noises.drifting(0.10), promised_false=True, promised_found=True),
    Setting(name="half of them slow", noise=noises.independent(0.10), slow=lambda workers: workers // 2),
    Setting(name="slowness that lasts, and is shared", noise=noises.correlated(0.10)),
    Setting(name="200 ms steps", noise=noises.independent(0.10), scale=0.2 / 46, steps=50, promised_false=True),
    Setting(name="ten-minute rounds", noise=noises.independent(0.10), scale=600 / 46, promised_false=True),
    Setting(name="CV 30 %", noise=noises.independent(0.30)),
)


def durations(setting: Setting, workers: int, seed: int, *, slow: int) -> list[Floats]:
    """Seconds of each phase (windows x workers); the first `slow` workers train twice as long from `FROM` on."""
    dice = np.random.default_rng([seed, workers, len(setting.name), slow])
    found = []
    for phase, seconds in enumerate(FIRST_S):
        times = seconds * setting.scale * setting.noise(dice, ROUNDS * setting.steps, workers)
        if phase == 0 and slow:
            times[FROM * setting.steps :, SLOW : SLOW + slow] *= LONGER
        found.append(np.median(times.reshape(ROUNDS, setting.steps, workers), axis=1))
    return found


def false_rounds(named: list[Flags]) -> int:
    """Rounds in which any phase names somebody whom it did not name in the round before; the first is warm-up."""
    fresh = [each[1:] & ~each[:-1] for each in named]
    return int(np.any(np.concatenate(fresh, axis=1), axis=1).sum())


def found(named: Flags, slow: int) -> float:
    """The share of slow workers that are named within three rounds."""
    return float(named[FROM : FROM + WITHIN, SLOW : SLOW + slow].any(axis=0).mean())


def study(setting: Setting, workers: int, runs: int) -> dict[str, tuple[float, float]]:
    """For each rule the share of healthy rounds with a finding, and of slow workers found within three rounds."""
    slow, rules = max(1, setting.slow(workers)), {"ours": ours, "open": while_open, **RULES}
    false, hits = dict.fromkeys(rules, 0.0), dict.fromkeys(rules, 0.0)
    for seed in range(runs):
        healthy = durations(setting, workers, seed, slow=0)
        faulty = durations(setting, workers, seed, slow=slow)
        for name, rule in rules.items():
            false[name] += false_rounds(rule(healthy, setting.steps)) / (ROUNDS - 1)
            hits[name] += found(rule(faulty, setting.steps)[0], slow)
    return {name: (false[name] / runs, hits[name] / runs) for name in rules}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100, help="of each size and setting (default: 100)")
    parser.add_argument("--setting", help="only those whose name begins so")
    options = parser.parse_args()
    conditions("detection", f"{options.runs} runs of {ROUNDS} rounds each, four phases")
    for setting in SETTINGS:
        if setting.name.startswith(options.setting or ""):
            show(_rows(setting, options.runs))


def _rows(setting: Setting, runs: int) -> list[Row]:
    rows = []
    for workers in SIZES:
        told = study(setting, workers, runs)
        simpler = "; ".join(f"{name} {100 * told[name][0]:.1f} %, {told[name][1]:.2f}" for name in RULES)
        false, hits = told["ours"]
        early, caught = told["open"]
        rows += [
            Row(
                name=f"{setting.name}, {workers} workers: healthy rounds with a finding", ours=100 * false, unit="%",
                most=100 * MOST_FALSE if setting.promised_false else None,
            ),
            Row(
                name=f"{setting.name}, {workers} workers: found within three rounds ({simpler})", ours=hits,
                least=LEAST_FOUND if setting.promised_found else None,
            ),
            Row(
                name=f"{setting.name}, {workers} workers: healthy rounds in which an open phase was slow", unit="%",
                ours=100 * early, most=100 * MOST_FALSE if setting.promised_false else None,
            ),
            Row(name=f"{setting.name}, {workers} workers: called slow while open, within three rounds", ours=caught),
        ]  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
