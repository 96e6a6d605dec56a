"""How an export is read: page by page, each from the place where the one before it ended, until its slice is over."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.queries.pages import Place

PAGE = 5_000

# From a place (None at the begin) to the bytes of what follows, how many records that was, and the next place, None at
# the end.
Step = Callable[[Place | None], tuple[bytes, int, Place | None]]


@dataclass(slots=True)
class Slice:
    """A piece of work that ends some seconds after it began; the first page is always made."""

    until: float
    _begun: bool = False

    @classmethod
    def of(cls, seconds: float) -> "Slice":
        """One that ends so many seconds from now."""
        return cls(time.monotonic() + seconds)

    def goes_on(self) -> bool:
        """Whether there is time for another page."""
        begun, self._begun = self._begun, True
        return not begun or time.monotonic() < self.until


@dataclass(slots=True)
class Progress:
    """How far an export has come: which step, the place in it, and how many records are behind."""

    step: int = 0
    place: Place | None = None
    records: int = 0

    @classmethod
    def of(cls, known: dict[str, Any]) -> "Progress":
        """What `told` said."""
        place = known["place"]
        return cls(known["step"], None if place is None else tuple(place), known["records"])

    def told(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {"step": self.step, "place": self.place, "records": self.records}

    def passed(self, records: int, place: Place | None) -> None:
        """A page has been made, and this is where the next one begins."""
        self.records, self.place = self.records + records, place
        if place is None:
            self.step += 1


def walk(steps: Sequence[Step], progress: Progress, within: Slice) -> Iterator[bytes]:
    """The bytes of one page after the other; over where the steps or the slice are."""
    while progress.step < len(steps) and within.goes_on():
        data, records, place = steps[progress.step](progress.place)
        progress.passed(records, place)
        yield data
