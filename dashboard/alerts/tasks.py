"""What Celery does for alerts, started by name."""

import time

from celery import shared_task

from dashboard.alerts import delivering, incidents
from ingest.feed.starting import start
from ingest.store.outbox import TELL

# A try takes at most some six seconds, and a task may take twelve.
_BEGIN_WITHIN_S = 5.0


@shared_task(name=TELL)
def tell() -> None:
    """Tell people all that is due; what is left after some seconds is left to another task."""
    deadline = time.monotonic() + _BEGIN_WITHIN_S
    while incidents.take_next():
        pass
    while delivering.deliver_next():
        if time.monotonic() > deadline:
            start(TELL)
            return
    delivering.settle()
