"""Key figures of runs side by side, each with what it is of: median, 95th percentile, number of rounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.runs import facts
from dashboard.runs.words import percent, seconds
from ingest.detection.comparing import median_interval
from ingest.queries.comparing import Analysed, RunRounds
from ingest.queries.comparing_memory import Peak

_NBSP = "\N{NO-BREAK SPACE}"
_TIMES = "Median; beneath it the 95th percentile and the number of rounds."
_WALL = (
    f"Wall time of a round: from the first worker's begin to the last one's end. {_TIMES} In brackets the order "
    "statistics between which the true median lies with 95 %, if rounds are independent of each other."
)
_WAITING = f"Share of the round in which a trainer is in no compute phase, mean over trainers. {_TIMES}"
_COVERAGE = f"Share of the round that recorded phases explain, mean over trainers. {_TIMES}"
_COMM = (
    "Share of the round in which a trainer moves data between nodes, without what it waited for others; mean over "
    f"trainers. Below 15 % is healthy, above 30 % speaks against the architecture. {_TIMES}"
)
_EXPOSED = f"The part of it that hides behind no computing. {_TIMES}"
_PEAK = "The highest reading of any of these workers in these rounds; between two readings it may have been higher."


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of one run: `text` first, `beneath` what it is of."""

    text: str = "–"
    beneath: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A row: what it is, what it means, and a cell for each run."""

    label: str
    means: str
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known of a run."""

    rounds: RunRounds
    analysed: Analysed
    peaks: list[Peak]


def figures(runs: Sequence[Known]) -> list[Figure]:
    """The rows; memory and intervals only where a run has any."""
    return [
        Figure("Round time", _WALL, [_wall(run.rounds.seconds) for run in runs]),
        Figure("GPU waiting", _WAITING, [_spread(run.rounds.waiting, percent) for run in runs]),
        Figure("Comm share", _COMM, [_spread(run.analysed.comm, percent) for run in runs]),
        Figure("Exposed share", _EXPOSED, [_spread(run.analysed.exposed, percent) for run in runs]),
        Figure("Coverage", _COVERAGE, [_spread(run.rounds.coverage, percent) for run in runs]),
        *_peaks(runs),
        *_intervals(runs),
    ]


def _wall(values: Sequence[float]) -> Cell:
    found = _spread(values, seconds)
    between = median_interval(values)
    if between is None:
        return found
    low, high = map(seconds, between)
    return Cell(f"{found.text} [{low} to {high}]", found.beneath)


def _spread(values: Sequence[float], words: Callable[[float], str]) -> Cell:
    if not values:
        return Cell()
    middle, high = (float(one) for one in np.quantile(values, (0.5, 0.95)))
    return Cell(words(middle), f"p95 {words(high)} · {counted(len(values), 'round')}")


def _peaks(runs: Sequence[Known]) -> list[Figure]:
    places = sorted({(one.role, one.of) for run in runs for one in run.peaks})
    rows = []
    for role, of in places:
        mine = [next((one for one in run.peaks if (one.role, one.of) == (role, of)), None) for run in runs]
        rows.append(Figure(f"Memory peak, {role} {of}", _PEAK, [_peak(one) for one in mine]))
    return rows


def _peak(one: Peak | None) -> Cell:
    if one is None:
        return Cell()
    size = facts.value("peak_bytes", str(one.bytes_)).text
    return Cell(size, "size of the model not known") if one.copies is None else (
        Cell(f"{one.copies:.1f}{_NBSP}model copies", size)
    )  # fmt: skip


def _intervals(runs: Sequence[Known]) -> list[Figure]:
    """What is called alike and measured otherwise is another row."""
    keys = dict.fromkeys(key for run in runs for key in run.analysed.intervals)
    rows = []
    for name, between in keys:
        cells = []
        for run in runs:
            one = run.analysed.intervals.get((name, between))
            cell = _spread(one.seconds, seconds) if one else Cell()
            checked = f" · {one.passed} of {one.judged} within {one.most_s:g}{_NBSP}s" if one and one.judged else ""
            cells.append(Cell(cell.text, cell.beneath + checked))
        rows.append(Figure(name, f"From {between}. {_TIMES}", cells))
    return rows


def counted(count: int, what: str) -> str:
    """ "1 round", "12 rounds"."""
    return f"{count:,}{_NBSP}{what}{'' if count == 1 else 's'}"
