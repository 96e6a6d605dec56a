"""How a benchmark tells what it found: one row for each figure, beside its reference and what was promised."""

import os
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure: `ours` beside `reference`, both in `unit`.

    `ratio` is ours by reference unless it is given, as the median of ratios of single repetitions is. `most` or `least`
    is what was promised: of the ratio where there is one, else of `ours`. Without either the row only tells.
    """

    name: str
    ours: float
    unit: str = ""
    reference: float | None = None
    ratio: float | None = None
    most: float | None = None
    least: float | None = None

    @property
    def judged(self) -> float:
        """What the promise is about: the ratio where there is one, else the figure itself."""
        if self.ratio is not None:
            return self.ratio
        return self.ours / self.reference if self.reference else self.ours

    @property
    def met(self) -> bool | None:
        """Whether the promise holds; None where nothing was promised."""
        if self.most is None and self.least is None:
            return None
        above = self.least is not None and not self.judged >= self.least
        return not above and not (self.most is not None and not self.judged <= self.most)


HEADINGS = ("figure", "ours", "reference", "ratio", "promised", "met")


def show(rows: Iterable[Row]) -> None:
    """Prints rows as a table; may be called once for all, or again and again while a benchmark goes on."""
    cells = [_cells(row) for row in rows]
    first = max([len(HEADINGS[0]), *(len(line[0]) for line in cells)])
    for line in (HEADINGS, *cells):
        print(f"{line[0]:<{first}}  " + "  ".join(f"{cell:>14}" for cell in line[1:]), flush=True)


def conditions(title: str, *more: str) -> None:
    """Prints what the figures were measured on; the load before tells whether the machine had other work."""
    python = ".".join(map(str, sys.version_info[:3]))
    here = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before, Python {python}"
    print(f"{title}: {'; '.join((here, *more))}", flush=True)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies (nearest rank), `share` from 0 to 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def median_ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """The median over repetitions of ours by reference, which were measured one right after the other."""
    return statistics.median(ours / reference for ours, reference in pairs)


def number(value: float) -> str:
    """Four digits that matter, without exponents: 1,234 or 12.3 or 1.0042."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 10 else f"{value:.4f}"


def _cells(row: Row) -> tuple[str, ...]:
    unit = f" {row.unit}" if row.unit else ""
    bounds = [f"{sign} {bound:.4g}" for sign, bound in (("<=", row.most), (">=", row.least)) if bound is not None]
    compared = row.ratio is not None or row.reference
    return (
        row.name,
        number(row.ours) + unit,
        "" if row.reference is None else number(row.reference) + unit,
        number(row.judged) if compared else "",
        " and ".join(bounds),
        {None: "", True: "yes", False: "NO"}[row.met],
    )
