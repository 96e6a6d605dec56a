"""The offset from this boot's monotonic clock to the server's clock, and how wrong it may be."""

from collections import deque
from dataclasses import dataclass

EXCHANGES = 8
DRIFT_PPM = 15


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer: what it says of the offset, its delay, and when it ended (nanoseconds)."""

    offset_ns: int
    delay_ns: int
    ended_ns: int

    def error_ns(self, now_ns: int) -> int:
        """How far the offset may be off at `now_ns`: half the delay, and 15 ppm of its age."""
        return self.delay_ns // 2 + max(0, now_ns - self.ended_ns) * DRIFT_PPM // 1_000_000


class Clock:
    """Learns from exchanges: t1 and t4 on the agent's monotonic clock, t2 and t3 on the server's named clock."""

    def __init__(self) -> None:
        self._name = ""
        self._exchanges: deque[Exchange] = deque(maxlen=EXCHANGES)

    def learn(self, name: str, t1: int, t2: int, t3: int, t4: int) -> None:
        """Takes in one exchange; one that cannot be (a negative delay) is passed over.

        Another server's clock, or an offset that contradicts what was known (this machine slept), starts anew.
        """
        delay = (t4 - t1) - (t3 - t2)
        if delay < 0 or t4 < t1 or not name:
            return
        exchange = Exchange(((t2 - t1) + (t3 - t4)) // 2, delay, t4)
        best = self._best()
        if name != self._name or (best is not None and _contradict(best, exchange)):
            self._exchanges.clear()
        self._name = name
        self._exchanges.append(exchange)

    def offset(self, now_ns: int, wall_ns: int) -> tuple[int, int | None]:
        """(offset, error) at `now_ns`; before the first exchange from the wall clock, with no known error."""
        best = self._best()
        if best is None:
            return wall_ns - now_ns, None
        return best.offset_ns, best.error_ns(now_ns)

    def _best(self) -> Exchange | None:
        return min(self._exchanges, key=lambda exchange: exchange.delay_ns, default=None)


def _contradict(known: Exchange, new: Exchange) -> bool:
    return abs(new.offset_ns - known.offset_ns) > known.error_ns(new.ended_ns) + new.error_ns(new.ended_ns)
