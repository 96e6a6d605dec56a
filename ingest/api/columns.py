"""Lists of JSON integers as int64 columns, exact where they fit and marked where they do not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ingest.store.arrivals import Floats, Ints, Mask
from roundwatch.wire import undelta

# Half the range of int64, so that a time and its offset, or a begin and its duration, can be added without
# wrapping.
LIMIT = 1 << 62
_WORDS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def integers(values: list[int], *, differences: bool = False) -> tuple[Ints, Mask]:
    """The column, undone of its differences if asked, and which of its values lie beyond +-2^62 (0 stands there)."""
    if not values:
        return np.zeros(0, np.int64), np.zeros(0, np.bool_)
    if differences:
        return _summed(values)
    if (column := uniform(values, -LIMIT, LIMIT)) is not None:
        return column, np.zeros(len(values), np.bool_)
    try:
        return _bounded(np.array(values, np.int64))
    except OverflowError:
        return _exact(values)


def _summed(differences: list[int]) -> tuple[Ints, Mask]:
    try:
        raw = np.array(differences, np.int64)
    except OverflowError:
        return _exact(undelta(differences))
    furthest = float(np.add.reduce(np.abs(raw.astype(np.float64))))
    if furthest > LIMIT:  # a sum on the way might wrap around
        return _exact(undelta(differences))
    column = raw.cumsum()
    if furthest < LIMIT // 2:  # then no sum is beyond, however that of floats was rounded
        return column, np.zeros(len(column), np.bool_)
    return _bounded(column)


def _bounded(column: Ints) -> tuple[Ints, Mask]:
    if within(column, -LIMIT, LIMIT):
        return column, np.zeros(len(column), np.bool_)
    beyond = (column > LIMIT) | (column < -LIMIT)
    return np.where(beyond, 0, column), beyond


def uniform(values: list[int], least: int, most: int) -> Ints | None:
    """The column where all its values are one in least .. most, as many are; found out in a fifth of its conversion."""
    if not values or values[-1] != values[0] or not least <= values[0] <= most:
        return None
    return np.full(len(values), values[0], np.int64) if values.count(values[0]) == len(values) else None


def within(column: Ints, least: int, most: int) -> bool:
    """Whether all values are: most columns are sound, and of short ones each step on numpy's part costs the same."""
    # Not min() and max(), which go through functions of Python's first.
    return not len(column) or bool(np.minimum.reduce(column) >= least and np.maximum.reduce(column) <= most)


def _exact(values: Sequence[int]) -> tuple[Ints, Mask]:
    beyond = np.array([abs(value) > LIMIT for value in values], np.bool_)
    return np.array([0 if bad else value for value, bad in zip(values, beyond, strict=True)], np.int64), beyond


def readings(values: list[float | str]) -> tuple[Floats, Mask]:
    """Readings as floats, and which of them are texts other than nan, inf and -inf."""
    bad = np.zeros(len(values), np.bool_)
    if str not in set(map(type, values)):
        return np.array(values, np.float64), bad
    numbers = np.zeros(len(values), np.float64)
    for index, value in enumerate(values):
        number = _WORDS.get(value) if isinstance(value, str) else value
        bad[index] = number is None
        numbers[index] = 0.0 if number is None else number
    return numbers, bad


@dataclass(slots=True)
class Verdicts:
    """Which records of one sort are refused, each for the first reason that applied."""

    count: int
    bad: Mask = field(init=False)
    reasons: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with no record refused."""
        self.bad = np.zeros(self.count, np.bool_)

    def refuse(self, which: Mask, reason: str) -> None:
        """Refuse the records of the mask."""
        if not which.any():  # nearly always
            return
        for index in np.flatnonzero(which & ~self.bad):
            self.reasons[int(index)] = reason
        self.bad |= which

    def refuse_by(self, column: Ints, reasons: Sequence[str | None], absent: str) -> Ints:
        """Refuse records whose index into a table is outside of it (`absent`), or points to an entry with a
        reason.

        An index of -1 stands for none. Returns the column with -1 for what was refused.
        """
        inside = column
        if not within(column, -1, len(reasons) - 1):
            outside = (column < -1) | (column >= len(reasons))
            self.refuse(outside, absent)
            inside = np.where(outside, -1, column)
        if not any(reasons):
            return inside
        faulty = np.array([*(reason is not None for reason in reasons), False])  # the last one stands for -1
        which = faulty[inside] & ~self.bad
        for index in np.flatnonzero(which).tolist():
            self.reasons[index] = reasons[inside[index]] or absent
        self.bad |= which
        return inside


def first_use(indices: Ints) -> tuple[list[int], Ints]:
    """The distinct values of a column, and the column as positions among them."""
    distinct, positions = np.unique(indices, return_inverse=True)
    return [int(value) for value in distinct], positions.astype(np.int64)


def row(columns: Any, index: int) -> dict[str, int | float | str]:
    """What one record of wire columns says, for showing; delta-coded columns show their differences."""
    return {name: getattr(columns, name)[index] for name in columns.__dataclass_fields__ if name != "number"}
