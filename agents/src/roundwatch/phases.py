"""Phases, rounds and steps as context managers, decorators and iterators: the path every training step takes.

Nothing here takes a lock, makes a system call or raises. What is innermost is kept in a context variable, so that
threads and asyncio tasks each have their own; the round is the run's, unless the context has entered one itself.
"""

import functools
import inspect
from _thread import get_ident
from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic_ns
from typing import Any, TypeVar

from roundwatch.attributes import attributes
from roundwatch.misuse import describe, harmless
from roundwatch.ring import OWN_NUMBER, Ring
from roundwatch.slots import END_WORDS, NO_ROUND, SIZE, START_WORDS, STATE_ERROR, THREAD_MASK

pack_start, pack_end = START_WORDS.pack_into, END_WORDS.pack_into
F = TypeVar("F", bound=Callable[..., Any])


class Scope:
    """The round that phases are counted to; `bits` is it, shifted to its place in a slot."""

    __slots__ = ("bits",)

    def __init__(self, bits: int = NO_ROUND) -> None:
        self.bits = bits


class Ground:
    """What phases of one thread stand on: which thread it is, its number among the run's, and the round around them."""

    __slots__ = ("ident", "scope", "thread")

    def __init__(self, ident: int, thread: int, scope: Scope) -> None:
        self.ident, self.thread, self.scope = ident, thread, scope

    @property
    def where(self) -> int:
        """Thread and round as a slot's second word."""
        return self.scope.bits | self.thread


class Place:
    """Where a context stands outside every phase and round; `number` would be the innermost phase's start."""

    __slots__ = ("ground", "number")

    def __init__(self, ground: Ground) -> None:
        self.ground, self.number = ground, -1


NOWHERE = Place(Ground(0, 0, Scope()))


class Recorder:
    """What phases and rounds write to: the ring, the innermost place of each context, and the run's round."""

    __slots__ = ("gathering", "innermost", "places", "ring", "scope")

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.innermost: ContextVar[Any] = ContextVar("roundwatch", default=NOWHERE)
        self.scope = Scope()
        self.places: dict[int, Place] = {}
        self.gathering: Any = None  # the parts of a step, where somebody times them

    def root(self, outer: Any, ident: int) -> Place:
        """The place of a thread outside every phase. A context brought from another thread keeps its round."""
        place = self.places.get(ident)
        if place is None:
            thread = len(self.places) & THREAD_MASK
            place = self.places[ident] = Place(Ground(ident, thread, self.scope))
        ground = outer.ground
        return Place(Ground(ident, place.ground.thread, ground.scope)) if ground.ident else place

    def here(self) -> Any:
        """The innermost place of the calling thread and task."""
        outer = self.innermost.get()
        ident = get_ident()
        return outer if outer.ground.ident == ident else self.root(outer, ident)


class Decorator:
    """A context manager that may stand above a function too: then each call enters a fresh one."""

    __slots__ = ()

    def again(self) -> Any:
        """A context manager like this one that was never entered."""
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return function(*args, **kwargs)

        async def call_async(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return await function(*args, **kwargs)

        chosen = call_async if inspect.iscoroutinefunction(function) else call
        return functools.wraps(function)(chosen)  # type: ignore[return-value]


class Phase(Decorator):
    """One phase. Written when it begins and again when it ends, so that a killed process leaves it open."""

    __slots__ = ("attrs", "begin", "end_head", "ground", "head", "number", "outer", "recorder", "where")

    # Set by Run.phase, without an __init__ whose frame would be an eighth of the whole cost. `head` and `end_head` are
    # the first words of the slots of its start and its end.
    recorder: Recorder
    head: int
    end_head: int
    attrs: dict[str, Any]

    def __enter__(self) -> "Phase":  # noqa: PYI034 - Self came with Python 3.11
        recorder = self.recorder
        innermost = recorder.innermost
        outer = innermost.get()
        ground = outer.ground
        ident = get_ident()
        if ground.ident != ident:
            outer = recorder.root(outer, ident)
            ground = outer.ground
        self.outer = outer
        self.ground = ground
        innermost.set(self)
        self.where = where = ground.scope.bits + ground.thread  # a sum is quicker than |, and the same
        if self.attrs:
            return self.enter_with_text(where, outer.number)
        ring = recorder.ring
        take = ring.take  # what is called must be a local: a slot called as a method is looked up anew each time
        self.number = number = take()
        self.begin = begin = monotonic_ns()
        if number < ring.limit or ring.room(number):
            at = (number & ring.mask) * SIZE
            pack_start(ring.buffer, at, self.head, where, number, outer.number, begin, number + 1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        end = monotonic_ns()
        recorder = self.recorder
        outer = self.outer
        recorder.innermost.set(outer)
        begin = self.begin
        if self.attrs or kind is not None:
            self.exit_with_text(end - begin, error)
            return
        ring = recorder.ring
        take = ring.take
        number = take()
        if number < ring.limit or ring.room(number):
            at, where, start = (number & ring.mask) * SIZE, self.where, self.number
            pack_end(ring.buffer, at, self.end_head, where, start, outer.number, begin, end - begin, number + 1)

    @harmless()
    def set(self, **attrs: Any) -> None:
        """Attributes known only while the phase runs; they are stored with its end."""
        self.attrs.update(attrs)

    def enter_with_text(self, where: int, parent: int) -> "Phase":
        text = attributes(self.attrs)
        self.begin = begin = monotonic_ns()
        self.number = self.recorder.ring.put_text(text, self.head, where, OWN_NUMBER, parent, begin, 0)
        return self

    def exit_with_text(self, duration: int, error: BaseException | None) -> None:
        head, text = self.said(error)
        self.recorder.ring.put_text(text, head, self.where, self.number, self.outer.number, self.begin, duration)

    def said(self, error: BaseException | None) -> tuple[int, bytes]:
        """The head of its end, and its attributes as JSON; b"" for none."""
        head = self.end_head
        # A loop that was left with `break` closes its generator so; nothing failed.
        if error is not None and not isinstance(error, GeneratorExit):
            head += STATE_ERROR
            self.attrs["error"] = describe(error)
        return head, attributes(self.attrs) if self.attrs else b""

    def again(self) -> "Phase":
        fresh = Phase()
        fresh.recorder, fresh.attrs = self.recorder, dict(self.attrs)
        fresh.head, fresh.end_head = self.head, self.end_head
        return fresh
