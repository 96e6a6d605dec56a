"""How many new runs a team may begin: each costs rows for good, and a loop that names runs would fill the disk."""

import math
import threading
import time
from collections.abc import Mapping
from uuid import UUID

from ingest.store.arrivals import Fault


class Allowance:
    """So many runs a minute for each team, in this process; what is not used adds up to a minute's worth."""

    def __init__(self, a_minute: int) -> None:
        """Begin with a minute's worth for everybody."""
        self._most = a_minute
        self._left: dict[UUID, tuple[float, float]] = {}  # runs left, and at which monotonic second
        self._lock = threading.Lock()

    def take(self, wanted: Mapping[UUID, int]) -> None:
        """Take so many runs of each team; raises Fault 429, and takes nothing, where one has too few left."""
        now = time.monotonic()
        with self._lock:
            left = {team_id: self._of(team_id, now) - count for team_id, count in wanted.items()}
            short = -min(left.values(), default=0.0)
            if short > 0:
                message = f"A team may begin {self._most} runs a minute."
                raise Fault(429, "too_many_runs", message, "batches", retry_s=math.ceil(short * 60 / self._most))
            self._left |= {team_id: (rest, now) for team_id, rest in left.items()}

    def _of(self, team_id: UUID, now: float) -> float:
        left, at = self._left.get(team_id, (float(self._most), now))
        return min(left + (now - at) * self._most / 60, self._most)
