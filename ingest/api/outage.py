"""Whether the database answered lately: known once for all who would ask it in vain."""

import time

from ingest.store.arrivals import Fault

# How long nobody asks after the database did not answer.
_PAUSE_S = 1.0
DOWN = Fault(503, "database", "The database does not answer; try again in a second.")


class Outage:
    """Begins when the database does not answer and lasts a moment; threads may share it."""

    def __init__(self) -> None:
        self._until = 0.0

    @property
    def lasts(self) -> bool:
        """Whether the database is left alone now."""
        return time.monotonic() < self._until

    def begin(self) -> None:
        """The database did not answer just now."""
        self._until = time.monotonic() + _PAUSE_S
