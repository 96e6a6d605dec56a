"""Sets of numbers kept as ascending, disjoint ranges: which records of a stream still wait for an answer."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Ranges:
    """A set of whole numbers; `first` and `last` of each range belong to it."""

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._ranges: list[tuple[int, int]] = []
        for first, last in ranges:
            self.add(first, last)

    def add(self, first: int, last: int) -> None:
        """Adds first .. last; nothing where last < first."""
        if last < first:
            return
        low = bisect_right(self._ranges, (first,))
        if low and self._ranges[low - 1][1] >= first - 1:
            low -= 1
        high = low
        while high < len(self._ranges) and self._ranges[high][0] <= last + 1:
            first, last = min(first, self._ranges[high][0]), max(last, self._ranges[high][1])
            high += 1
        self._ranges[low:high] = [(first, last)]

    def remove(self, first: int, last: int) -> None:
        """Takes first .. last out, where they are in."""
        if last < first:
            return
        kept = []
        for low, high in self._ranges:
            if low < first:
                kept.append((low, min(high, first - 1)))
            if high > last:
                kept.append((max(low, last + 1), high))
            elif low > last:
                kept.append((low, high))
        self._ranges = kept

    def within(self, first: int, last: int) -> list[tuple[int, int]]:
        """The parts of this set between first and last."""
        return [(max(low, first), min(high, last)) for low, high in self._ranges if low <= last and high >= first]

    def top(self) -> tuple[int, int] | None:
        """The highest range, None for the empty set."""
        return self._ranges[-1] if self._ranges else None

    def count(self) -> int:
        """How many numbers are in."""
        count = 0
        for first, last in self._ranges:
            count += last - first + 1
        return count

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self._ranges)

    def __bool__(self) -> bool:
        return bool(self._ranges)
