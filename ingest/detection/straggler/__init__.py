"""Straggler, when the phase has ended: a worker whose phase is much slower than its peers' in the same round."""

from ingest.detection.straggler.incident import KIND
from ingest.detection.straggler.judge import judge
from ingest.detection.straggler.policy import DEFAULT, Policy

__all__ = ["DEFAULT", "KIND", "Policy", "judge"]
