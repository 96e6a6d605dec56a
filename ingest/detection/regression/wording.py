"""What a regression says: the figure, the usual one, and of how many runs under which conditions."""

from ingest.detection.regression.context import Standing
from ingest.detection.regression.facts import Compared
from ingest.detection.wording import duration, size

_CHANGES = 4


def observed(compared: Compared, found: Standing) -> str:
    """What was measured."""
    runs = f"the last {len(found.past)} comparable runs of this project ({compared.group})"
    if found.measure == "round_s":
        return (
            f"The median round takes {duration(found.own)}, {found.ratio:.2f} times the {duration(found.usual)} of "
            f"{runs}, which took {duration(min(found.past))} to {duration(max(found.past))}."
        )
    if found.measure == "waiting_share":
        return (
            f"GPUs wait for {_percent(found.own)} of the median round, {100 * found.excess:.0f} percentage points more "
            f"than the {_percent(found.usual)} of {runs}, where it was {_percent(min(found.past))} to "
            f"{_percent(max(found.past))}."
        )
    who = f"{compared.worker}'s memory" if compared.worker else "The memory of a worker"
    return (
        f"{who} peaked at {_size(found.own, compared.copy_bytes)}, {found.ratio:.2f} times the "
        f"{_size(found.usual, compared.copy_bytes)} of {runs}, which peaked at {_size(min(found.past), None)} to "
        f"{_size(max(found.past), None)}."
    )


def hypothesis(compared: Compared) -> str:
    """What may explain it: what is set otherwise than in the newest run before; empty where nothing is."""
    if not compared.changed:
        return ""
    more = len(compared.changed) - _CHANGES
    told = "; ".join(compared.changed[:_CHANGES]) + (f"; and {more} more" if more > 0 else "")
    return f"Configured otherwise than in {compared.earlier[-1].name}, the newest comparable run: {told}."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _size(count: float, copy_bytes: float | None) -> str:
    return f"{size(count)} ({count / copy_bytes:.1f} model copies)" if copy_bytes else size(count)
