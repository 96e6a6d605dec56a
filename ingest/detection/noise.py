"""How much durations vary by themselves, and how sure a difference is."""

import math
from statistics import NormalDist

import numpy as np

from ingest.detection.columns import column_medians, median
from ingest.detection.facts import Floats

# The median absolute deviation of a normal distribution times this is its standard deviation.
_NORMAL = 1.4826
# How far, in standard deviations, a value counts fully; the mean of what then counts of a normal one's square.
_FULLY, _COUNTED = 2.0, 0.9205
# Few values may all be small: by this over the root of their number a sigma is taken larger.
_FEW = 0.5
# Two quantiles of the size of a normal value, by the share below each, for few values and for many.
_TAIL_FEW, _TAIL_MANY, _TAIL_FROM = (0.99, 2.576), (0.995, 2.807), (0.90, 1.645)
_LEAST_VALUES, _MANY_VALUES = 100, 600
# Variance of a median of m values, in units of that of one value over m (pi / 2).
MEDIAN_VARIANCE = 1.57
# By how many sigma a lower median of so many peers lies below the median.
_BIAS = {2: 0.56, 4: 0.30, 6: 0.20}


def references(durations: Floats) -> Floats:
    """For each of n >= 2 durations the lower median of the other n - 1."""
    order = np.argsort(durations, kind="stable")
    ordered = durations[order]
    middle = (len(durations) - 2) // 2
    found = np.empty(len(durations))
    found[order] = np.where(np.arange(len(durations)) > middle, ordered[middle], ordered[middle + 1])
    return found


def pooled(rows: Floats) -> float:
    """Sigma of the logarithm from differences between following rows (windows x workers); NaN if there are none.

    Standing offsets between workers cancel, and so does what all workers share. Far values count up to a bound
    (Huber's proposal 2): a median alone would need three times as many to be as sure, and of two or three workers
    there are few. `tests/bench` has the figures.
    """
    size = np.isfinite(rows).sum(axis=1)
    rows = np.log(rows[size >= 2])
    offsets = rows - column_medians(rows.T).reshape(-1, 1)
    workers = float(np.max(size, initial=0))
    if len(rows) < 2:
        return math.nan
    steps = np.abs(np.diff(offsets, axis=0)).ravel()
    few = 1 + _FEW / math.sqrt((len(rows) - 1) * (workers - 1))
    return few * _deviation(steps[np.isfinite(steps)]) / math.sqrt(2) * math.sqrt(workers / (workers - 1))


def heaviness(rows: Floats) -> float:
    """How much farther than sigma says rare values lie, at least 1; from differences between following rows.

    A normal's far quantiles are 1.6 to 1.7 times its 90 % quantile; how much larger that is here says what to expect
    still farther out. 1 where too few values tell.
    """
    rows = rows[np.isfinite(rows).sum(axis=1) >= 2]
    steps = np.abs(np.diff(np.log(rows) - np.log(column_medians(rows.T)).reshape(-1, 1), axis=0))
    steps = steps[np.isfinite(steps)]
    if len(steps) < _LEAST_VALUES:
        return 1.0
    share, normal = _TAIL_MANY if len(steps) >= _MANY_VALUES else _TAIL_FEW
    usual, far = np.quantile(steps, (_TAIL_FROM[0], share)).tolist()
    return float(max(1.0, far / usual / (normal / _TAIL_FROM[1]))) if usual > 0 else 1.0


def _deviation(sizes: Floats) -> float:
    """The standard deviation of values around zero of which a few may lie far out; NaN where there are none."""
    found = _NORMAL * median(sizes)
    for _ in range(3):
        found = math.sqrt(float(np.mean(np.minimum(sizes, _FULLY * found) ** 2)) / _COUNTED) if len(sizes) else found
    return found


def own(rows: Floats) -> Floats:
    """Sigma of the logarithm of each worker's durations from differences between following rows, NaN if none."""
    return _NORMAL * column_medians(np.abs(np.diff(np.log(rows), axis=0))) / math.sqrt(2)


def around(values: Floats) -> float:
    """Sigma of two values or more around their median, far ones counted up to a bound; for few it is taken larger."""
    few = 1 + _FEW / math.sqrt(len(values) - 1)
    return few * _deviation(np.abs(values - median(values))) * math.sqrt(len(values) / (len(values) - 1))


def among(durations: Floats) -> float:
    """Sigma of the logarithm of some workers' durations in one window."""
    logs = np.log(durations)
    return _NORMAL * median(np.abs(logs - median(logs)))


def bias(peers: int) -> float:
    """How many sigma the lower median of so many peers lies too low on average."""
    return _BIAS.get(peers, 0.0)


def spread(sigma: Floats, peers: Floats, least: float) -> Floats:
    """Standard deviation of the logarithm of a ratio to the median of `peers` values, never below `least`."""
    return np.maximum(sigma * np.sqrt(1 + MEDIAN_VARIANCE / peers), least)


def least_z(tests: int, least: float, false_share: float) -> float:
    """The z that counts when the round makes so many tests, so that the whole family rarely names a healthy one."""
    return max(least, NormalDist().inv_cdf(1 - false_share / max(tests, 1)))
