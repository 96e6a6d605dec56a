"""The bounds of a what-if, with the meaning of each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen bounds; a team or a run may override them."""

    explained: float = 0.9  # of the recoverable time: the joint set grows until it saves as much
    least_joint: float = 0.25  # of the recoverable time: where the set saves less, many vary alike and none is named
    most_joint: int = 16  # workers' phases in a joint set
    most_scopes: int = 12  # of each sort (workers, phases, machines, ...), those with the most excess
    most_nodes: int = (
        60_000  # phases and instants of a round; more are not replayed, for each is gone through one by one
    )
    skipped_share: float = 0.2  # of the cohort's median: less is skipped work and no reference
    least_share: float = 0.001  # of the round: what saves and costs less is not told


DEFAULT = Policy()
