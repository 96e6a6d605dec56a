"""What Celery does for alerts, started by name."""

import time

from celery import shared_task

from dashboard.alerts import delivering, holding, incidents, pruning
from ingest.feed.starting import start
from ingest.store.outbox import PRUNE, TELL

# A try takes at most some six seconds, and a task may take twelve.
_BEGIN_WITHIN_S = 5.0


@shared_task(name=TELL)
def tell() -> None:
    """Tell people all that is due; what is left after some seconds is left to another task."""
    deadline = time.monotonic() + _BEGIN_WITHIN_S
    while incidents.take_next():
        pass
    holding.release()
    while delivering.deliver_next():
        if time.monotonic() > deadline:
            start(TELL)
            return
    delivering.settle()


@shared_task(name=PRUNE)
def prune() -> None:
    """Delete what was told long ago; what is left after some seconds is left to another task."""
    if pruning.prune(_BEGIN_WITHIN_S):
        start(PRUNE)
