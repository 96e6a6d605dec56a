"""What it means to who sent a request that it could not be stored: refused for good, or to be sent again."""

import logging
from functools import partial

from django.db import DataError, IntegrityError, InterfaceError, OperationalError

from ingest.api.outage import down
from ingest.store.arrivals import Fault

# What the database says when it can do nothing for anybody just now; another connection may find it well.
UNANSWERED = (OperationalError, InterfaceError)
# No word on what the request holds: refused for good, its agent would set sound records aside. It keeps them instead.
failed = partial(Fault, 503, "failed", "The server failed, not by what the request holds; try again in a second.")
_log = logging.getLogger(__name__)


def fault_of(error: Exception) -> Fault:
    """The answer for what the store raised, which is logged where people must mend it."""
    if isinstance(error, Fault):  # the store's own: too many new runs
        return error.afresh()
    if isinstance(error, UNANSWERED):
        _log.warning("The database does not answer: %s", error)
        return down()
    _log.error("A request could not be stored.", exc_info=error)
    if isinstance(error, DataError | IntegrityError):
        return Fault(422, "unstorable", "The database refuses what the request holds.")
    return failed()  # a database that is not as it should be, such as one that may only be read, or a fault of ours
