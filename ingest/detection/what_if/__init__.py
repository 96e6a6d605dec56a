"""What-if: how long a round would have lasted if some of its durations had been their reference."""

from ingest.detection.what_if.policy import DEFAULT, Policy
from ingest.detection.what_if.rules import Fix, Joint, WhatIf, judge

__all__ = ["DEFAULT", "Fix", "Joint", "Policy", "WhatIf", "judge"]
