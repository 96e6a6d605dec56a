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
from roundwatch.ring import OWN_NUMBER, Ring, pack_into
from roundwatch.slots import END_OF_START, NO_ROUND, STATE_ERROR, THREAD_MASK

F = TypeVar("F", bound=Callable[..., Any])


class Scope:
    """The round that phases are counted to; `bits` is it, shifted to its place in a slot."""

    __slots__ = ("bits",)

    def __init__(self, bits: int = NO_ROUND) -> None:
        self.bits = bits


class Place:
    """Where a context stands: its innermost phase or round. `number` is that phase's start, -1 outside phases."""

    __slots__ = ("ident", "number", "scope", "thread")

    def __init__(self, ident: int, thread: int, scope: Scope, number: int = -1) -> None:
        self.ident, self.thread, self.scope, self.number = ident, thread, scope, number


NOWHERE = Place(0, 0, Scope())


class Recorder:
    """What phases and rounds write to: the ring, the innermost place of each context, and the run's round."""

    __slots__ = ("innermost", "places", "ring", "scope")

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.innermost: ContextVar[Any] = ContextVar("roundwatch", default=NOWHERE)
        self.scope = Scope()
        self.places: dict[int, Place] = {}

    def root(self, outer: Any, ident: int) -> Place:
        """The place of a thread outside every phase. A context brought from another thread keeps its round."""
        place = self.places.get(ident)
        if place is None:
            thread = len(self.places) & THREAD_MASK
            place = self.places[ident] = Place(ident, thread, self.scope)
        return Place(ident, place.thread, outer.scope) if outer.ident else place

    def here(self) -> Any:
        """The innermost place of the calling thread and task."""
        outer = self.innermost.get()
        ident = get_ident()
        return outer if outer.ident == ident else self.root(outer, ident)


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

    __slots__ = ("attrs", "begin", "head", "ident", "number", "outer", "parent", "recorder", "scope", "thread", "where")

    # Set by Run.phase, without an __init__ whose frame would be an eighth of the whole cost.
    recorder: Recorder
    head: int
    attrs: dict[str, Any]

    def __enter__(self) -> "Phase":  # noqa: PYI034 - Self came with Python 3.11
        recorder = self.recorder
        self.outer = outer = recorder.innermost.get()
        self.ident = ident = get_ident()
        if outer.ident != ident:
            outer = recorder.root(outer, ident)
        self.scope = scope = outer.scope
        self.thread = thread = outer.thread
        self.parent = parent = outer.number
        self.where = where = scope.bits | thread
        recorder.innermost.set(self)
        if self.attrs:
            return self.enter_with_text(where, parent)
        ring = recorder.ring
        self.number = number = ring.take()
        self.begin = begin = monotonic_ns()
        if number < ring.limit or ring.room(number):
            at = (number & ring.mask) << 6
            pack_into(ring.buffer, at, self.head, where, number, parent, begin, 0, 0, number + 1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        end = monotonic_ns()
        recorder = self.recorder
        recorder.innermost.set(self.outer)
        begin = self.begin
        if self.attrs or kind is not None:
            self.exit_with_text(end - begin, error)
            return
        ring = recorder.ring
        number = ring.take()
        if number < ring.limit or ring.room(number):
            at = (number & ring.mask) << 6
            head = self.head + END_OF_START
            pack_into(ring.buffer, at, head, self.where, self.number, self.parent, begin, end - begin, 0, number + 1)

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
        head = self.head + END_OF_START
        # A loop that was left with `break` closes its generator so; nothing failed.
        if error is not None and not isinstance(error, GeneratorExit):
            head += STATE_ERROR
            self.attrs["error"] = describe(error)
        text = attributes(self.attrs) if self.attrs else b""
        self.recorder.ring.put_text(text, head, self.where, self.number, self.parent, self.begin, duration)

    def again(self) -> "Phase":
        fresh = Phase()
        fresh.recorder, fresh.head, fresh.attrs = self.recorder, self.head, dict(self.attrs)
        return fresh
