"""How many bodies are read at once, and how large a part of memory they take; half of each is a team's own."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from uuid import UUID

from ingest.api.room import busy, half, too_many

MOST_READING = 2048
MOST_READING_BYTES = 64 << 20


class Gate:
    """Counts what is being read, for one event loop: slow or endless bodies of one team shut nobody else out."""

    def __init__(self, most: int = MOST_READING, most_bytes: int = MOST_READING_BYTES) -> None:
        """Prepare; so many bodies and bytes may be on their way."""
        self._most, self._most_bytes = most, most_bytes
        self._reading: Counter[UUID] = Counter()
        self._bytes: Counter[UUID] = Counter()

    def __len__(self) -> int:
        """How many bodies are on their way."""
        return self._reading.total()

    @contextlib.contextmanager
    def passing(self, team_id: UUID) -> Iterator[Callable[[int], None]]:
        """Within it a body of the team is read; it is told of every part's bytes.

        Raises Fault 503 where there is no room for it or its next part, 429 where its team has filled its half.
        """
        self._require_room(team_id, self._reading, 1, self._most)
        self._reading[team_id] += 1
        taken = 0

        def took(size: int) -> None:
            nonlocal taken
            self._require_room(team_id, self._bytes, size, self._most_bytes)
            self._bytes[team_id] += size
            taken += size

        try:
            yield took
        finally:
            _give_back(self._reading, team_id, 1)
            _give_back(self._bytes, team_id, taken)

    def _require_room(self, team_id: UUID, used: Counter[UUID], more: int, most: int) -> None:
        if used.total() + more > most:
            raise busy()
        if used[team_id] + more > half(most):
            raise too_many()


def _give_back(used: Counter[UUID], team_id: UUID, amount: int) -> None:
    used[team_id] -= amount
    if used[team_id] <= 0:
        del used[team_id]
