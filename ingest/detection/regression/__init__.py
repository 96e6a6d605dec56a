"""A regression: a run that is worse than its project's own runs under the same conditions usually are."""

from ingest.detection.regression.facts import Compared, RunFigures
from ingest.detection.regression.judge import KIND, judge
from ingest.detection.regression.policy import DEFAULT, Policy

__all__ = ["DEFAULT", "KIND", "Compared", "Policy", "RunFigures", "judge"]
