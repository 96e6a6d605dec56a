"""Whether the database answered lately: known once for all who would ask it in vain."""

import contextlib
import threading
import time
from collections.abc import Iterator
from functools import partial

from ingest.store.arrivals import Fault

# How long nobody asks after the database did not answer.
_PAUSE_S = 1.0
# How long it may think: a server that is stopped, or whose disk hangs, refuses nothing and answers nothing.
_PATIENCE_S = 5.0
# How often who waits for an answer looks whether the database still speaks.
LOOK_EVERY_S = 0.5
down = partial(Fault, 503, "database", "The database does not answer; try again in a second.")


class Outage:
    """Begins when the database does not answer and lasts a moment; threads may share it."""

    def __init__(self) -> None:
        self._until = 0.0
        self._lock = threading.Lock()
        self._asked: dict[int, float] = {}  # by whom, at which monotonic second
        self._answered_at = 0.0
        self._probed_at = 0.0

    @property
    def lasts(self) -> bool:
        """Whether the database is left alone now."""
        return time.monotonic() < self._until

    @property
    def silent(self) -> bool:
        """Whether somebody has waited for long, and nobody was answered meanwhile."""
        with self._lock:
            patient_since = time.monotonic() - _PATIENCE_S
            return (
                self._answered_at < patient_since and min(self._asked.values(), default=patient_since) < patient_since
            )

    def begin(self) -> None:
        """The database did not answer just now."""
        self._until = time.monotonic() + _PAUSE_S

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Within it this thread waits for the database."""
        asker = threading.get_ident()
        with self._lock:
            self._asked[asker] = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                del self._asked[asker]
                self._answered_at = time.monotonic()

    def require_answers(self) -> None:
        """Raise Fault 503 while the database is silent, but once a second: somebody must find out when it speaks."""
        if not self.silent:
            return
        with self._lock:
            if time.monotonic() - self._probed_at < _PAUSE_S:
                raise down()
            self._probed_at = time.monotonic()
