"""The rules: rounds that take longer than this project's do, GPUs that wait for longer, more memory at its peak."""

from ingest.detection.regression.context import Standing, standing
from ingest.detection.regression.facts import Compared
from ingest.detection.regression.policy import Policy


def slower(compared: Compared, policy: Policy) -> Standing | None:
    """The median round takes longer than usual."""
    found = standing(compared, "round_s", policy)
    return found if found is not None and _stands_out(found, policy) and found.ratio >= policy.ratio else None


def waits_more(compared: Compared, policy: Policy) -> Standing | None:
    """GPUs wait for a greater share of the median round than usual."""
    found = standing(compared, "waiting_share", policy)
    return found if found is not None and _stands_out(found, policy) and found.excess >= policy.least_share else None


def holds_more(compared: Compared, policy: Policy) -> Standing | None:
    """A worker's memory peaks higher than usual."""
    found = standing(compared, "memory_peak_bytes", policy)
    if found is None or not _stands_out(found, policy) or found.excess < policy.least_bytes:
        return None
    return found if found.ratio >= policy.ratio else None


def _stands_out(found: Standing, policy: Policy) -> bool:
    return found.worst and found.z >= policy.z
