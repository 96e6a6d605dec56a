"""The thresholds of the slow-phase rules, with the meaning of each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them. Times in seconds."""

    ratio: float = 1.5  # of an open phase to what its finished peers took
    early_ratio: float = 3.0  # until `known_rounds` are known and there are fewer than `early_cohort`
    early_cohort: int = 6
    few_peers: int = 3  # so few are a measure only beside the rounds before: `ratio` of these is needed as well
    known_rounds: int = 5
    noise_rounds: int = 20
    sigmas: float = 3.5
    heavy_power: int = 3  # of how much farther rare values lie; one less than where phases have ended
    past_rounds: int = 10  # where too few peers have finished: so many rounds before are looked at
    past_least: int = 3  # durations, fewer say nothing
    past_ratio: float = 2.0  # of the median of these
    past_tail: float = 1.2  # of their 95th percentile
    suspect_s: float = 1.0  # above the reference: the bar turns amber
    slow_least_s: float = 1.0  # the same for a finding: `slow_share` of a round, but at least and at most so much
    slow_share: float = 0.05
    slow_most_s: float = 5.0
    stalled_ratio: float = 6.0  # of the reference
    stalled_s: float = 60.0  # above the limit for slow
    cap_s: float = 1800.0  # where there is nothing to compare with
    progress_least: float = 0.1  # of an open phase, below which it foretells nothing
    lost_s: float = 15.0  # since a worker was heard: it is lost, not slow
    run_stalled_s: float = 300.0  # without the end of any phase
    run_stalled_rounds: float = 6.0  # the same in typical rounds, if that is longer


DEFAULT = Policy()
