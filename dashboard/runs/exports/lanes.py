"""Which lane of a trace a phase goes into, so that in each lane bars lie beside each other or one inside the other.

Viewers of traces know nothing of parents: in a lane they take what lies within a bar for its child. A phase therefore
stands in the lane of the phase around it, and begins a lane of its own where a sibling is still going on there.
"""

from dataclasses import dataclass, field
from typing import Any

Name = tuple[int, int]  # a stream and the number with which a phase began there


@dataclass(slots=True)
class _Lane:
    """`stack` is what goes on in it, outermost first: stream, start number, end in microseconds."""

    number: int
    stack: list[list[int]] = field(default_factory=list)

    def top_at(self, begin_us: int, parent: Name | None) -> list[int] | None:
        """The innermost that still goes on, its parent even where that ends just now."""
        while self.stack and self.stack[-1][2] <= begin_us and (self.stack[-1][0], self.stack[-1][1]) != parent:
            self.stack.pop()
        return self.stack[-1] if self.stack else None


class Lanes:
    """The lanes of one worker and thread; phases come by begin, each after the one around it."""

    def __init__(self, known: list[Any] | None = None) -> None:
        """`known` is what `told` said, to go on from there."""
        self._lanes = [_Lane(number, [list(one) for one in stack]) for number, stack in known or []]

    def place(self, name: Name, parent: Name | None, begin_us: int, end_us: int) -> int:
        """The number of the phase's lane, from 0."""
        found = self._inside(parent, begin_us, end_us)
        if found is None:
            found = next((lane for lane in self._lanes if lane.top_at(begin_us, None) is None), None)
        if found is None:
            found = _Lane(len(self._lanes))
            self._lanes.append(found)
        found.stack.append([*name, end_us])
        return found.number

    def told(self) -> list[Any]:
        """All of it as JSON has it."""
        return [[lane.number, lane.stack] for lane in self._lanes]

    def _inside(self, parent: Name | None, begin_us: int, end_us: int) -> _Lane | None:
        """The lane in which the parent is what goes on, unless the phase outlasts it."""
        if parent is None:
            return None
        for lane in self._lanes:
            if not any((one[0], one[1]) == parent for one in lane.stack):
                continue
            top = lane.top_at(begin_us, parent)
            if top is not None and (top[0], top[1]) == parent and top[2] >= end_us:
                return lane
        return None
