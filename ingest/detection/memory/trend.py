"""Trends that a few odd values do not move: Mann-Kendall's tau and Theil's and Sen's slope."""

import numpy as np

from ingest.detection.facts import Floats


def mann_kendall(values: Floats) -> float:
    """Tau of the values in their order, from -1 to 1: pairs that rise less pairs that fall, by all pairs.

    Mann 1945, Kendall 1975; ties count as neither. NaN for fewer than two values.
    """
    count = len(values)
    if count < 2:
        return float("nan")
    signs = np.sign(values[np.newaxis, :] - values[:, np.newaxis])
    return float(np.triu(signs, 1).sum() / (count * (count - 1) / 2))


def theil_sen(places: Floats, values: Floats) -> float:
    """The median slope over all pairs of points; NaN for fewer than two. Theil 1950, Sen 1968."""
    first, second = np.triu_indices(len(values), 1)
    if not len(first):
        return float("nan")
    return float(np.median((values[second] - values[first]) / (places[second] - places[first])))
