"""What people keep of the list of runs, one noun a file; import them from here."""

from dashboard.runs.models.chosen_columns import ChosenColumns
from dashboard.runs.models.joined_runs import JoinedRun
from dashboard.runs.models.saved_views import SavedView
from dashboard.runs.models.stars import Star

__all__ = ["ChosenColumns", "JoinedRun", "SavedView", "Star"]
