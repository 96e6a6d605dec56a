"""Medians and groups on columns and matrices in which NaN means absent."""

import numpy as np

from ingest.detection.facts import Floats, Ints


def numbered(*columns: Ints) -> tuple[Ints, Ints]:
    """Number the distinct rows of `columns` from 0 in ascending order.

    Returns each row's number, and for each number the position of one row that has it.
    """
    order = np.lexsort(columns[::-1])
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(fresh) - 1
    return number, order[fresh]


def group_medians(number: Ints, values: Floats, count: int) -> Floats:
    """The median of the values of each group 0 .. count - 1; NaN where a group has a NaN or no value."""
    order = np.lexsort((values, number))
    ordered = values[order]
    size = np.bincount(number, minlength=count)
    first = np.cumsum(size) - size
    found = np.full(count, np.nan)
    filled = size > 0
    low, high = (first + (size - 1) // 2)[filled], (first + size // 2)[filled]
    found[filled] = (ordered[low] + ordered[high]) / 2
    found[np.unique(number[np.isnan(values)])] = np.nan
    return found


def column_medians(matrix: Floats) -> Floats:
    """The median of each column without its NaNs; NaN where a column has nothing else."""
    ordered = np.sort(matrix, axis=0)
    size = np.isfinite(ordered).sum(axis=0)
    at = np.arange(matrix.shape[1])
    if not len(matrix):
        return np.full(matrix.shape[1], np.nan)
    middle = (ordered[np.maximum(size - 1, 0) // 2, at] + ordered[np.minimum(size // 2, len(matrix) - 1), at]) / 2
    return np.where(size > 0, middle, np.nan)


def median(values: Floats) -> float:
    """The median of what is finite; NaN where nothing is."""
    return float(column_medians(values.reshape(-1, 1))[0])


def lower_median(values: Floats) -> float:
    """The lower median of at least one value: of an even number the lesser of the two in the middle."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def newest(matrix: Floats, count: int) -> Floats:
    """The matrix with all but the last `count` finite values of each column turned to NaN."""
    finite = np.isfinite(matrix)
    from_the_end = np.cumsum(finite[::-1], axis=0)[::-1]
    return np.where(finite & (from_the_end <= count), matrix, np.nan)
