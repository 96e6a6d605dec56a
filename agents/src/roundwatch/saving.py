"""Which streams are to be made safe from a loss of power now: what the server has need not be forced to disk too."""

import time
from collections.abc import Iterable

from roundwatch.streams import Stream

# What the server has is synced all the same: how a stream went on is known from the disk alone.
STORED_S = 5.0


class Saving:
    """Asked every half second, at most a second passes until a record is with the server or on the disk."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[int, float]] = {}  # of each stream the next number, and when it was synced

    def due(self, streams: Iterable[Stream], *, all_of_them: bool) -> list[Stream]:
        """Those of which the server has not stored what was there at the last call, or that were not synced lately."""
        now = time.monotonic()
        before, self._before = self._before, {}
        chosen = []
        for stream in streams:
            known, synced = before.get(stream.id, (0, float("-inf")))
            oldest = next(iter(stream.pending), (stream.life.next, 0))[0]
            if all_of_them or oldest < known or now - synced >= STORED_S:
                chosen.append(stream)
                synced = now
            self._before[stream.id] = stream.life.next, synced
        return chosen
