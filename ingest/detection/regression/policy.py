"""The thresholds of a regression, with the meaning of each."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them. The usual is the median of the runs before."""

    least_runs: int = 5  # that are comparable: fewer tell little of how much runs vary
    most_runs: int = 10  # the newest of them
    least_rounds: int = 5  # of a run, the warm-up left out
    ratio: float = 1.2  # of round time or memory to the usual
    least_share: float = 0.05  # of the round: GPU waiting above the usual
    least_bytes: float = 256 * MIB  # memory above the usual
    z: float = 3.5  # of the runs before, by how much they vary
    least_sigma: float = 0.03  # of the logarithm: so well no two runs repeat each other
    least_sigma_share: float = 0.01


DEFAULT = Policy()
