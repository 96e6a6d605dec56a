"""One browser that watches a run: where it stands, how much it has not drawn yet, and what it is sent next."""

import asyncio
from dataclasses import dataclass, field

from dashboard.live.numbers import Numbers
from dashboard.live.window import Window
from ingest.feed.frames import encode_resync

MAX_UNDRAWN = 2


@dataclass(frozen=True, slots=True)
class Hello:
    """What a browser says of its picture: the feed's cursor, and the stream numbers it is based on, if it knows."""

    epoch: int
    last: int
    base: Numbers | None


class RunGoneError(Exception):
    """The run was deleted while it was being watched."""


@dataclass(slots=True, eq=False)
class Viewer:
    """A place in a window instead of a queue: a slow viewer costs no memory, and is sent less.

    `place` is None while it has no picture to add to; it is not `in_step` while its picture is not known to agree
    with the feed, because Redis was away when it came. `sent` and `drawn` count binary messages since the socket
    opened.
    """

    window: Window
    place: int | None = None
    in_step: bool = False
    sent: int = 0
    drawn: int = 0
    joined_at: float = 0.0
    _first: bytes = b""
    _joining: bool = False
    _lost: bool = False
    _gone: bool = False
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self) -> None:
        """From now on every block is for this viewer, after the message that it is still to be welcomed with."""
        self.place, self._joining, self._lost, self._first = self.window.newest, True, False, b""
        self.drawn = self.sent  # what it was sent before belongs to a picture that is no more

    def welcome(self, first: bytes, now: float, *, in_step: bool) -> None:
        """It is sent `first`, then what comes."""
        self._first, self.in_step, self._joining, self.joined_at = first, in_step, False, now
        self.wake()

    def lose(self) -> None:
        """Its picture can no longer be completed: it is told to load a snapshot."""
        self.place, self._joining, self._lost = None, False, True
        self.wake()

    def bury(self) -> None:
        """The run is gone."""
        self._gone = True
        self.wake()

    def acknowledge(self, drawn: int) -> None:
        """It has drawn so many messages. Raises ValueError for more than it was sent."""
        if drawn > self.sent:
            raise ValueError("acknowledged more than was sent")
        self.drawn = max(self.drawn, drawn)
        self.wake()

    def wake(self) -> None:
        """There may be something to send."""
        self._woken.set()

    @property
    def standing(self) -> bool:
        """Whether it has a picture and is being sent what follows."""
        return self.place is not None and not self._joining

    @property
    def caught_up(self) -> bool:
        """Whether it was sent everything there is."""
        return self.standing and self.place == self.window.newest and not self._first

    async def next(self) -> bytes:
        """The next message, once there is one and the viewer has drawn enough. Raises RunGoneError."""
        while not (message := self._due()):
            self._woken.clear()
            await self._woken.wait()
        self.sent += 1
        return message

    def _due(self) -> bytes:
        if self._gone:
            raise RunGoneError
        if self.sent - self.drawn >= MAX_UNDRAWN:
            return b""
        if self.place is not None and self.standing and not self.window.holds(self.place):
            self.lose()
        if self._lost:
            self._lost = False
            return encode_resync()
        if self.place is None or self._joining:
            return b""
        if self._first:
            message, self._first = self._first, b""
            return message
        if self.place == self.window.newest:
            return b""
        message = self.window.after(self.place, in_step=self.in_step)
        self.place = self.window.newest
        return message
