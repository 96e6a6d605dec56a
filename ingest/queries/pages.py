"""Lists in pieces: what comes after a place in an order, so that a list that grows is never counted through."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")
# Where a page ended: the values, in order, by which its list is sorted.
Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list; `next` is where to go on, None at the end."""

    items: list[T]
    next: Place | None


def page(rows: Sequence[R], limit: int, make: Callable[[R], T], place: Callable[[R], Place]) -> Page[T]:
    """A page of `limit` items from rows of which one more was asked for."""
    shown = rows[:limit]
    return Page([make(row) for row in shown], place(shown[-1]) if len(rows) > limit else None)
