"""A machine that all slow workers share and no other worker does: a cause worth telling."""

from collections.abc import Iterable, Sequence

from ingest.detection.facts import Worker


def shared(flagged: Sequence[Worker], others: Iterable[Worker]) -> Worker | None:
    """One of the flagged workers if there are several, all on one machine on which none of `others` is."""
    machines = {worker.machine for worker in flagged}
    if len(flagged) < 2 or len(machines) != 1 or machines == {""}:
        return None
    rest = [worker.machine for worker in others]
    return flagged[0] if rest and not machines.intersection(rest) else None


def told(worker: Worker, count: int) -> str:
    """The explanation when all `count` flagged workers, and no other of their cohort, are on the worker's machine."""
    name = worker.host or worker.machine
    who = "Both" if count == 2 else f"All {count}"
    return f"{who} run on one physical machine ({name}), which none of the others uses."
