"""The investigations of a run, for whichever page speaks of it."""

from typing import Any

from django import template

from dashboard.runs.models import Investigation
from ingest.models import Run

register = template.Library()
_MOST = 20


@register.inclusion_tag("runs/investigations_of_run.html")
def investigations_of(run: Run) -> dict[str, Any]:
    """Show what is investigated of the run's findings, and where the run is one of the later runs; nothing without."""
    begun = Investigation.objects.filter(run=run).order_by("-pk")[:_MOST]
    joined = Investigation.objects.filter(added__run=run).order_by("-pk")[:_MOST]
    return {"begun": begun, "joined": joined}
