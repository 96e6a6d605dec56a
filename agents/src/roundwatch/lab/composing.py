"""Puts a round together, phase by phase, in the order in which a scenario tells it."""

from typing import Any

from roundwatch.lab.shapes import Act, Did, Happened, Read


class Composer:
    """A round under way; phases that follow one another on a worker begin where the one before ended."""

    def __init__(self, begin_s: float) -> None:
        self.begin_s = begin_s
        self.at: dict[str, float] = {}  # where each worker is
        self._phases: list[Did] = []
        self._reads: list[Read] = []
        self._events: list[Happened] = []

    def phase(self, worker: str, name: str, seconds: float, **attrs: Any) -> float:
        """The worker's next phase; returns its end."""
        begin = self.at.get(worker, self.begin_s)
        return self.between(worker, name, begin, begin + seconds, **attrs)

    def until(self, worker: str, name: str, end_s: float, **attrs: Any) -> None:
        """The worker's next phase, which ends then; none where it is there already."""
        if end_s > self.at.get(worker, self.begin_s):
            self.between(worker, name, self.at.get(worker, self.begin_s), end_s, **attrs)

    def between(self, worker: str, name: str, begin_s: float, end_s: float, **attrs: Any) -> float:
        """A phase with both its ends, which may leave a gap before it."""
        self._phases.append(Did(worker, name, begin_s, end_s, attrs))
        self.at[worker] = max(end_s, self.at.get(worker, end_s))
        return end_s

    def beside(self, worker: str, name: str, begin_s: float, end_s: float, **attrs: Any) -> float:
        """A phase on another thread of the worker, which goes on with its own meanwhile."""
        self._phases.append(Did(worker, name, begin_s, end_s, attrs, thread=1))
        return end_s

    def inside(self, worker: str, name: str, begin_s: float, end_s: float, **attrs: Any) -> None:
        """A phase within the worker's newest one."""
        around = max(place for place, did in enumerate(self._phases) if did.worker == worker and did.inside is None)
        self._phases.append(Did(worker, name, begin_s, end_s, attrs, inside=around))

    def gap(self, worker: str, seconds: float) -> float:
        """Time that no phase explains."""
        self.at[worker] = self.at.get(worker, self.begin_s) + seconds
        return self.at[worker]

    def event(self, worker: str, name: str, at_s: float, **attrs: Any) -> None:
        """An instant."""
        self._events.append(Happened(worker, name, at_s, attrs))

    def memory(self, worker: str, value: float, at_s: float) -> None:
        """What the worker's process holds, in bytes."""
        self._reads.append(held(worker, value, at_s))

    def act(self, *, next_s: float | None = None) -> Act:
        """The round: it ends for everybody together, and then the next begins, unless it says otherwise."""
        end = max(self.at.values())
        return Act(
            part=dict.fromkeys(self.at, (self.begin_s, end)) if next_s is None else self._apart(),
            phases=tuple(self._phases), reads=tuple(self._reads), events=tuple(self._events),
            next_s=end if next_s is None else next_s,
        )  # fmt: skip

    def _apart(self) -> dict[str, tuple[float, float]]:
        """Each worker's own part: from its first phase to the end of its last."""
        return {
            worker: (
                min(did.begin_s for did in self._phases if did.worker == worker),
                max(did.end_s for did in self._phases if did.worker == worker),
            )
            for worker in self.at
        }


def held(worker: str, value: float, at_s: float) -> Read:
    """A reading of a process's memory, in bytes."""
    return Read(worker, "process_memory_bytes", value, at_s, "bytes", "process")
