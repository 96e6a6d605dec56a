"""What people keep of runs, one noun a file; import them from here."""

from dashboard.runs.models.chosen_columns import ChosenColumns
from dashboard.runs.models.comparables import Comparable
from dashboard.runs.models.investigations import InvestigatedRun, Investigation
from dashboard.runs.models.joined_runs import JoinedRun
from dashboard.runs.models.saved_views import SavedView
from dashboard.runs.models.stars import Star

__all__ = ["ChosenColumns", "Comparable", "InvestigatedRun", "Investigation", "JoinedRun", "SavedView", "Star"]
