"""What teams owe for requests that were read in vain: beyond a credit they are sent away before anything is read.

In vain is what is refused, and what takes much longer to read than the records that it brings in explain.
"""

import math
from uuid import UUID

from ingest.store.arrivals import Fault

# A shipper that looks for one bad record halves its requests a dozen times, which takes a fraction of this.
CREDIT_S = 2.0
# Seconds of reading in vain that are forgiven in a second: a tenth of one core.
FORGIVEN = 0.1
_MOST_KNOWN = 1_000


class Debts:
    """Seconds that each team owes; `now` is monotonic seconds. For one thread at a time."""

    def __init__(self) -> None:
        """Begin with nobody owing."""
        self._owed: dict[UUID, tuple[float, float]] = {}  # so many seconds, at which moment

    def owe(self, team_id: UUID, seconds: float, now: float) -> None:
        """A request of the team took so many seconds in vain."""
        if len(self._owed) > _MOST_KNOWN:
            self._owed = {each: owed for each, owed in self._owed.items() if self._of(each, now) > 0}
        self._owed[team_id] = (self._of(team_id, now) + seconds, now)

    def require_credit(self, team_id: UUID, now: float) -> None:
        """Raise Fault 429, saying when to come again, while the team owes more than its credit."""
        beyond = self._of(team_id, now) - CREDIT_S
        if beyond > 0:
            message = "Too much of what this team sends is refused; what is sound is taken again in a while."
            raise Fault(429, "too_many_refused", message, retry_s=math.ceil(beyond / FORGIVEN))

    def _of(self, team_id: UUID, now: float) -> float:
        owed, at = self._owed.get(team_id, (0.0, now))
        return max(owed - (now - at) * FORGIVEN, 0.0)
