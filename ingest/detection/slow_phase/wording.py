"""What is said of open phases in words: figures with units, nothing that was not measured."""

import math
from collections.abc import Sequence

from ingest.detection.slow_phase.context import Judged
from ingest.detection.slow_phase.limits import Basis
from ingest.detection.slow_phase.missing import Missing
from ingest.detection.slow_phase.rules import Mark
from ingest.detection.wording import Words, duration

_NAMED = 4  # so many workers are named; of more, the number is told


def names(workers: Sequence[str], words: Words) -> str:
    """rank-6 and rank-7; 12 workers."""
    if len(workers) > _NAMED:
        return f"{len(workers)} {words.worker}s"
    return " and ".join(filter(None, [", ".join(workers[:-1]), workers[-1]]))


def slow(phase: str, judged: Sequence[Judged], marks: Sequence[Mark], words: Words) -> str:
    """encode still runs on rank-6 and rank-7 after 4.5 s; 14 of 15 peers finished within 2.3 s."""
    who = names([one.worker.name for one in judged], words)
    longest = max(mark.worked_s for mark in marks)
    begun = f"{phase} still runs on {who} after {duration(longest)}"
    if all(mark.foretold for mark in marks):
        begun += ", and its progress says that it goes on beyond the limit"
    return f"{begun}; {_compared(judged, words)}."


def missing(phase: str, workers: Sequence[str], found: Sequence[Missing], now_ns: int, words: Words) -> str:
    """Who has not begun what the peers have ended."""
    longest = max((now_ns - one.since_ns) / 1e9 for one in found)
    one = found[0]
    has, whose = ("has", "its") if len(found) == 1 else ("have", "their")
    return (
        f"{names(workers, words)} {has} not begun {phase} {duration(longest)} after {whose} last phase ended; "
        f"{one.finished} of {one.peers} peers have ended it."
    )


def lost(workers: Sequence[str], quiet_s: Sequence[float], reasons: Sequence[str]) -> str:
    """Who is not heard any more, for how long, and what its host says of it."""
    told = [
        f"{worker}: {reason}" if reason else f"{worker}: nothing was heard for {duration(quiet)}"
        for worker, quiet, reason in zip(workers, quiet_s, reasons, strict=True)
    ]
    more = f"; and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return "; ".join(told[:_NAMED]) + more + "."


def run_stalled(quiet_s: float, at: Sequence[tuple[str, str]], idle: Sequence[str], words: Words) -> str:
    """Who is in what phase, and who is in none."""
    phases: dict[str, list[str]] = {}
    for worker, phase in at:
        phases.setdefault(phase, []).append(worker)
    told = [f"{names(workers, words)} in {phase}" for phase, workers in sorted(phases.items())]
    told += [f"{names(idle, words)} in no phase"] if idle else []
    return f"No phase has ended anywhere for {duration(quiet_s)}: {', '.join(told)}."


def _compared(judged: Sequence[Judged], words: Words) -> str:
    limits = judged[0].limits
    if limits.basis is Basis.PEERS:
        # Those that are slow themselves are no peers to be proud of: each has the others.
        finished, peers = limits.finished, limits.peers
        within = f" within {duration(limits.latest_s)}" if math.isfinite(limits.latest_s) else ""
        return f"{finished} of {peers} peers finished{within}"
    if limits.basis is Basis.PAST:
        return f"usual before this {words.round} was {duration(limits.reference_s)}"
    return "there is nothing to compare with, and no phase is expected to last so long"
