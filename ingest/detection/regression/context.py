"""The evidence of a regression, computed once for each measure: the run's figure beside those of the runs before.

Eligible are runs of one project under the same conditions, each with enough judged rounds. Missing data means: a run
that lacks a figure is not among those compared by it, and with fewer of them than needed nothing is said.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ingest.detection.facts import Floats
from ingest.detection.noise import MEDIAN_VARIANCE, around
from ingest.detection.regression.facts import Compared, RunFigures
from ingest.detection.regression.policy import Policy

Measure = Literal["round_s", "waiting_share", "memory_peak_bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A run's figure `own` beside the `usual` of those before it (their median).

    `past` are `runs`' figures, oldest first; `z` is by how many standard deviations it is worse than the usual, on the
    scale of logarithms but for shares; infinite where a run before had nothing.
    """

    measure: Measure
    own: float
    usual: float
    past: tuple[float, ...]
    runs: tuple[RunFigures, ...]
    z: float

    @property
    def ratio(self) -> float:
        """How many times the usual."""
        return self.own / self.usual if self.usual > 0 else math.inf

    @property
    def excess(self) -> float:
        """How much above the usual."""
        return self.own - self.usual

    @property
    def worst(self) -> bool:
        """Whether it is worse than each of those before it."""
        return self.own > max(self.past)


def standing(compared: Compared, measure: Measure, policy: Policy) -> Standing | None:
    """Where the run stands by one measure; None where it, or too many of those before it, cannot be judged by that."""
    own = _figure(compared.own, measure, policy)
    known = [(one, value) for one in compared.earlier if (value := _figure(one, measure, policy)) is not None]
    known = known[-policy.most_runs :]
    if own is None or len(known) < max(policy.least_runs, 2):
        return None
    past = np.array([value for _, value in known], float)
    return Standing(
        measure=measure, own=own, usual=float(np.median(past)), past=tuple(past.tolist()),
        runs=tuple(one for one, _ in known), z=_z(own, past, measure, policy),
    )  # fmt: skip


def _figure(one: RunFigures, measure: Measure, policy: Policy) -> float | None:
    value: float | None = getattr(one, measure)
    if value is None or not math.isfinite(value) or one.rounds < policy.least_rounds:
        return None
    return value if measure == "waiting_share" or value > 0 else None


def _z(own: float, past: Floats, measure: Measure, policy: Policy) -> float:
    """Sigma is Huber's, of differences from the median, and no less than the best that runs repeat each other."""
    share = measure == "waiting_share"
    values = past if share else np.log(past)
    sigma = max(around(values), policy.least_sigma_share if share else policy.least_sigma)
    more = (own if share else math.log(own)) - float(np.median(values))
    return more / (sigma * math.sqrt(1 + MEDIAN_VARIANCE / len(past)))
