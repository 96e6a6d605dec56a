"""The thresholds of the straggler rule, with the meaning of each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them."""

    ratio: float = 1.5  # of a duration to its reference, in one round
    lasting_ratio: float = 1.3  # the same where it comes back
    lasting_z: float = 2.5
    lasting_hits: int = 2  # of the last `lasting_of` rounds
    lasting_of: int = 3
    clean_rounds: int = 3  # after which a lasting one is over
    least_z: float = 3.5
    false_share: float = 0.001  # of rounds in which any healthy worker may be named, over all tests of the round
    least_spread: float = 0.05  # of the natural logarithm: nothing is quieter than 5 %
    floor_least_s: float = 0.020
    floor_most_s: float = 2.0
    floor_share: float = 0.05  # of the round
    early_ratio: float = 3.0  # until `known_rounds` are known and there are fewer than `early_cohort`
    early_cohort: int = 6
    early_many_ratio: float = 2.0  # until `known_rounds` are known and there are as many
    heavy_power: int = 4  # of how much farther rare values lie: the z for one round grows by it, that for more once
    small_cohort: int = 3  # where a quick peer makes a ratio: slow in one round must be slower than its own past, too
    known_rounds: int = 5
    noise_rounds: int = 20
    own_rounds: int = 10
    skipped_share: float = 0.2  # of the cohort's median: less is skipped work
    page_share: float = 0.10  # of the round: a lasting excess of that much is critical


DEFAULT = Policy()
