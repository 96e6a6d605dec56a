"""What people change of a run: its name, tags and notes, and whether it is archived."""

from typing import Any

from ingest.feed import messages
from ingest.feed.publisher import publish
from ingest.models import Run

CHANGEABLE = frozenset({"name", "tags", "notes", "archived_at"})


def change(run: Run, fields: dict[str, Any]) -> Run:
    """Set some of CHANGEABLE and tell the run's viewers; nothing else of the row is written."""
    unknown = set(fields) - CHANGEABLE
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))} cannot be changed")
    if fields:
        Run.objects.filter(pk=run.pk).update(**fields)
        for name, value in fields.items():
            setattr(run, name, value)
        publish(run.pk, messages.meta(run=messages.run_entry(run)))
    return run
