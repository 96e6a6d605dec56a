"""What the pages of runs keep, one file for each noun; import them from here."""

from dashboard.runs.models.comparables import Comparable
from dashboard.runs.models.investigations import InvestigatedRun, Investigation

__all__ = ["Comparable", "InvestigatedRun", "Investigation"]
