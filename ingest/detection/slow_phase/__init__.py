"""Slow phase, while it still runs: an open phase that lasts longer than its peers' did, told before it ends."""

from ingest.detection.slow_phase.judge import judge
from ingest.detection.slow_phase.live import Live, Open, Presence, Seen
from ingest.detection.slow_phase.policy import DEFAULT, Policy
from ingest.detection.slow_phase.rules import Deadline, Level, Mark, Watched
from ingest.detection.slow_phase.usual import Usual, usual

__all__ = [
    "DEFAULT", "Deadline", "Level", "Live", "Mark", "Open", "Policy", "Presence", "Seen", "Usual", "Watched",
    "judge", "usual",
]  # fmt: skip
