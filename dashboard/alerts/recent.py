"""What opened lately in each team, kept in memory for a moment: however many pages ask, it is read once a second."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from django.db import close_old_connections
from django.utils import timezone

from dashboard.alerts import listing
from dashboard.alerts.models import Alert
from dashboard.alerts.news import LONGEST

FRESH_S = 1.0
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="news")
Read = Callable[[str], Sequence[Alert]]


class Recent:
    """The alerts of teams (by their slugs) that `read` gives, each reading shared by all who ask within a second."""

    def __init__(self, read: Read) -> None:
        """`read` is called in a thread."""
        self._read = read
        self._readings: dict[str, tuple[float, asyncio.Future[Sequence[Alert]]]] = {}

    async def of(self, team: str, now: float | None = None) -> Sequence[Alert]:
        """Raises what the reading raises, which the next who asks begins anew. `now` is monotonic."""
        now = time.monotonic() if now is None else now
        until, reading = self._readings.get(team, (0.0, None))
        if reading is None or until <= now or (reading.done() and reading.exception()):
            reading = asyncio.get_running_loop().run_in_executor(_thread, self._read, team)
            self._readings[team] = now + FRESH_S, reading
        # Whoever goes away meanwhile takes it from nobody else.
        return await asyncio.shield(reading)


def _of_team(team: str) -> Sequence[Alert]:
    close_old_connections()
    try:
        return listing.opened_since(team, timezone.now() - LONGEST)
    finally:
        close_old_connections()


recent = Recent(_of_team)
