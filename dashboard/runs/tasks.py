"""What Celery does for pages of runs, started by name."""

from uuid import UUID

from celery import shared_task

from dashboard.runs.exports import making
from ingest.store.exports import MAKE, SWEEP


@shared_task(name=MAKE)
def make_export(export_id: str) -> None:
    """Get an export on by a slice; the watcher asks again until it is done."""
    making.make_slice(UUID(export_id))


@shared_task(name=SWEEP)
def sweep_exports() -> None:
    """Remove what nobody needs any more."""
    making.sweep()
