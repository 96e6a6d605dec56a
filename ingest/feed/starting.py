"""Starts Celery tasks by name, so that no door imports another, and without ever waiting long for a dead Redis."""

import logging

import celery
from kombu.exceptions import OperationalError

from ingest.feed.connection import breaker, client

QUEUE = "celery"  # the list in Redis in which Celery's tasks wait
# Some seconds of a worker's work: more would keep newer rounds waiting behind older ones, and be asked for twice.
MOST_WAITING = 500
_log = logging.getLogger(__name__)


def start(name: str, *args: str | int) -> bool:
    """Send the task to Celery; returns whether it was taken. What was not is found by the watcher's scan.

    Celery's own patience with a broker that does not answer is several seconds, so that the broker is asked first:
    how much waits there. Where that is too much, the scan asks later for what is still to be done then.
    """
    waiting = breaker.call(lambda: client().llen(QUEUE))
    if waiting is None or waiting >= MOST_WAITING:
        return False
    try:
        celery.current_app.send_task(name, args, retry=False)
    except (OperationalError, OSError) as error:
        _log.warning("task %s waits for the watcher's scan: %s", name, error)
        return False
    return True
