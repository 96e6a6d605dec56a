"""The numbers of a ring that nobody finds there: lost by their writer for want of room, or taken and never written."""

import time
from collections.abc import Iterator

from roundwatch import layout, slots
from roundwatch.slots import Record

AHEAD = 64  # how far beyond a hole one looks for life
HOLE_POLLS, HOLE_NS = 10, 2_000_000_000
MOST_LOST = 1 << 40  # more than a process can lose in its life


class Holes:
    """Of one ring: `head` are the words of its header, `words` those of its `count` slots."""

    def __init__(self, head: "memoryview[int]", words: "memoryview[int]", count: int) -> None:
        self._head, self._words, self._count = head, words, count
        self._hole: tuple[int, int, int, int] = (-1, 0, 0, -1)  # number, since, polls, highest

    def committed(self, number: int) -> bool:
        """Whether a number lies in its place."""
        return bool(self._words[((number & (self._count - 1)) << 3) + 7] == number + 1)

    def lost(self, number: int) -> Record | None:
        """The DROP for the numbers from `number` on that the writer lost for want of room."""
        for first, end, from_ns, to_ns in self._ranges():
            if first <= number < end:
                span = self._hole_span(number, end)
                return slots.drop(number, span=span, count=span, reason="ring full", from_ns=from_ns, to_ns=to_ns)
        return None

    def torn(self, number: int) -> Record | None:
        """The DROP for `number` whose thread was interrupted between taking and writing it; None while it may come.

        It may come as long as the rest of the process does not go on either: a stopped process is not a torn one.
        """
        if not self._goes_on(number):
            return None
        highest, now = self._end(number), time.monotonic_ns()
        seen, since, polls, before = self._hole
        if seen != number:
            self._hole = (number, now, 0, highest)
            return None
        polls += highest > before
        self._hole = (number, since, polls, highest)
        if polls < HOLE_POLLS or now - since < HOLE_NS:
            return None
        return slots.drop(number, span=1, count=1, reason="torn")

    def following(self, number: int) -> int | None:
        """The lowest from `number` on that was committed, or lost for want of room; None where none was."""
        lost = [max(first, number) for first, end, _, _ in self._ranges() if end > number]
        return min([found for found in self._numbers() if found >= number] + lost, default=None)

    def lowest(self) -> int:
        """The lowest number that may still lie in the ring."""
        return max(0, max(self._numbers(), default=-1) + 1 - self._count)

    def _ranges(self) -> Iterator[list[int]]:
        words = self._head[layout.LOST : layout.LOST + layout.LOST_SPACE].tolist()
        for at in range(0, layout.LOST_SPACE, layout.LOST_WORDS) if any(words) else ():
            found = words[at : at + layout.LOST_WORDS]
            if 0 <= found[0] < found[1] < found[0] + MOST_LOST and 0 < found[2] <= found[3] <= time.monotonic_ns():
                yield found

    def _hole_span(self, number: int, end: int) -> int:
        near = min(end, number + self._count)
        return next((at for at in range(number + 1, near) if self.committed(at)), end) - number

    def _goes_on(self, number: int) -> bool:
        """Whether something close behind `number` is committed."""
        at = number & (self._count - 1)
        commits = self._words[(at << 3) + 7 : (at + AHEAD) << 3 : 8].tolist()
        wrapped = self._words[7 : max(0, at + AHEAD - self._count) << 3 : 8].tolist()
        return max(*commits, *wrapped, 0) > number

    def _end(self, number: int) -> int:
        """The number after the highest that was committed, or lost for want of room; at least `number`."""
        written = max(self._numbers(), default=-1) + 1
        return max(written, number, *(lost[1] for lost in self._ranges()), 0)

    def _numbers(self) -> list[int]:
        """The numbers that are committed in the ring, in no order; what cannot stand in its place is none."""
        mask = self._count - 1
        commits = self._words[7::8].tolist()
        return [commit - 1 for at, commit in enumerate(commits) if commit > 0 and (commit - 1) & mask == at]
