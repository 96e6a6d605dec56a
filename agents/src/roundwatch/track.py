"""What a training asked to be remembered: weak references, and what still holds the objects two rounds later."""

import time
import weakref
from dataclasses import dataclass
from typing import Any

from roundwatch import slots
from roundwatch.attributes import attributes
from roundwatch.misuse import leave_out
from roundwatch.phases import Recorder
from roundwatch.track_paths import search

NAME = "retained"
ROUNDS = 2
MOST_TRACKED = 10_000
SHARE = 100  # looking for what holds an object may take one part in so many of a training's time


@dataclass(slots=True)
class Tracked:
    """One object: since when, in rounds begun, and when it is told next."""

    reference: "weakref.ref[Any]"
    label: str
    since: int
    due: int


class Tracker:
    """The objects of one run. An object that stays is told after two rounds, then after 4, 8 and so on."""

    def __init__(self, recorder: Recorder, following: int) -> None:
        self._recorder = recorder
        self._tracked: list[Tracked] = []
        self._next, self._begun = following, 0
        self._not_before_ns = 0

    def add(self, obj: Any, label: str) -> None:
        """Raises TypeError for what cannot be referenced weakly: a dict, a list, a number."""
        if len(self._tracked) >= MOST_TRACKED:
            self._forget_the_gone()
        if len(self._tracked) >= MOST_TRACKED:
            leave_out(f"track() remembers {MOST_TRACKED} objects that are alive; the others are left out")
            return
        self._tracked.append(Tracked(weakref.ref(obj), label, self._begun, self._begun + ROUNDS))

    def at_boundary(self, following: int) -> None:
        """A round has begun or ended; `following` is the index after the newest, which tells a begin."""
        if following == self._next:
            return
        self._next = following
        self._begun += 1
        if self._tracked:
            self._forget_the_gone()
            self._tell()

    def _forget_the_gone(self) -> None:
        self._tracked = [tracked for tracked in self._tracked if tracked.reference() is not None]

    def _tell(self) -> None:
        for tracked in self._tracked:
            if tracked.due > self._begun or (began := time.monotonic_ns()) < self._not_before_ns:
                continue
            self._tell_of(tracked)
            tracked.due = self._begun + max(self._begun - tracked.since, ROUNDS)
            ended = time.monotonic_ns()
            self._not_before_ns = ended + (ended - began) * SHARE

    def _tell_of(self, tracked: Tracked) -> None:
        held = search(tracked.reference)
        if held is None:
            return
        said = {"label": tracked.label, "rounds": self._begun - tracked.since, **held}
        ring, where = self._recorder.ring, self._recorder.here().ground.where
        head = slots.head(slots.EVENT, ring.name(NAME))
        ring.put_text(attributes(said), head, where, -1, -1, time.monotonic_ns(), 0)
