"""How durations vary by themselves: factors of the usual duration, rounds x workers."""

from collections.abc import Callable

import numpy as np

from ingest.detection.facts import Floats

Noise = Callable[[np.random.Generator, int, int], Floats]
LEAST = 0.1  # a duration never falls below a tenth of the usual


def independent(cv: float) -> Noise:
    """Normal, with this coefficient of variation."""
    return lambda dice, rounds, workers: _clipped(1 + cv * dice.standard_normal((rounds, workers)))


def heavy(cv: float) -> Noise:
    """Student's t of four degrees of freedom, scaled to this coefficient of variation: rare values lie far out."""
    scale = cv / np.sqrt(2.0)  # the variance of that t is 2
    return lambda dice, rounds, workers: _clipped(1 + scale * dice.standard_t(4, (rounds, workers)))


def drifting(cv: float) -> Noise:
    """Everybody takes longer and longer, twice as long at the end."""

    def drawn(dice: np.random.Generator, rounds: int, workers: int) -> Floats:
        drift = np.linspace(1, 2, rounds)[:, np.newaxis]
        return _clipped(drift * (1 + cv * dice.standard_normal((rounds, workers))))

    return drawn


def correlated(cv: float) -> Noise:
    """Half of the variation is everybody's together, and what is a worker's own lasts for some rounds (rho 0.8)."""

    def drawn(dice: np.random.Generator, rounds: int, workers: int) -> Floats:
        rho, share = 0.8, np.sqrt(0.5)
        own = dice.standard_normal((rounds, workers))
        for at in range(1, rounds):
            own[at] = rho * own[at - 1] + np.sqrt(1 - rho**2) * own[at]
        together = dice.standard_normal((rounds, 1))
        return _clipped(1 + cv * share * (own + together))

    return drawn


def _clipped(factors: Floats) -> Floats:
    return np.maximum(factors, LEAST)
