"""Rounds and steps of one worker: as context managers, decorators and iterators, or one call at a loop's top."""

from collections.abc import Callable, Iterable, Iterator
from time import monotonic_ns
from typing import Any, TypeVar

from roundwatch import slots
from roundwatch.gathering import StepPhase
from roundwatch.misuse import describe, ours, tell_once
from roundwatch.phases import Decorator, Ground, Phase, Recorder, Scope

T = TypeVar("T")
HEAD = slots.head(slots.ROUND)
MAX_INDEX = 1 << 31  # what the server keeps
SELDOM_NS = 250_000_000  # where rounds are short steps, reading memory at each boundary would cost more than the rest
Parts = tuple[Callable[[], None], ...]


class Rounds:
    """Which round is open, which index comes next, and what is done at boundaries, one after the other.

    `each` is done at every one, `seldom` at the first and then at most four times a second.
    """

    def __init__(self, recorder: Recorder, *, each: Parts = (), seldom: Parts = ()) -> None:
        self.recorder, self._each, self._seldom = recorder, each, seldom
        self._due_ns = 0
        self.next = 0
        self.open = 0  # how many rounds have begun and not ended
        self._flat: tuple[int, int] | None = None

    def begin(self, index: int, begin_ns: int) -> tuple[int, int]:
        """Begins a round; returns what `end` wants: its index and begin. Threads without a round follow it."""
        self.next = index + 1
        self.open += 1
        self.recorder.scope.bits = index << slots.THREAD_BITS
        self._write(index, begin_ns, 0, ended=False)
        return index, begin_ns

    def end(self, begun: tuple[int, int], end_ns: int | None = None) -> None:
        """Ends the round that `begin` returned."""
        self.open -= 1
        self._write(*begun, (monotonic_ns() if end_ns is None else end_ns) - begun[1], ended=True)

    def follow(self, index: int | None = None, begin_ns: int | None = None) -> None:
        """Ends the round that the call before began, and begins the next: round `index`, both at `begin_ns`."""
        self.end_flat(begin_ns)
        self._flat = self.begin(self.next if index is None else index, monotonic_ns() if begin_ns is None else begin_ns)

    def end_flat(self, end_ns: int | None = None) -> None:
        """Ends the round that `follow` began, where one is open."""
        if self._flat is not None:
            begun, self._flat = self._flat, None
            self.end(begun, end_ns)

    def at_each(self, part: Callable[[], None]) -> None:
        """From now on `part` is done at every boundary as well."""
        self._each += (part,)

    def _write(self, index: int, begin: int, duration: int, *, ended: bool) -> None:
        where = index << slots.THREAD_BITS | self.recorder.here().ground.thread
        self.recorder.ring.put(HEAD, where, int(ended), -1, begin, duration)
        now = begin + duration
        self._do(self._each)
        if now >= self._due_ns:
            self._due_ns = now + SELDOM_NS
            self._do(self._seldom)

    def _do(self, parts: Parts) -> None:
        """A part that fails is told once and done no more: the training goes on, and so do the others."""
        for part in parts:
            try:
                part()
            except Exception as error:
                if not ours(error):
                    raise
                self._each, self._seldom = (
                    tuple(kept for kept in among if kept is not part) for among in (self._each, self._seldom)
                )
                tell_once(f"what a round brings with it fails, and is left out from here on: {describe(error)}")


class Round(Decorator):
    """One round on this worker; `index` None is the one after the last."""

    __slots__ = ("_begin_ns", "_begun", "_index", "_outer", "_rounds", "ground", "number")

    def __init__(self, rounds: Rounds, index: Any = None, begin_ns: int | None = None) -> None:
        self._rounds, self._index, self._begin_ns = rounds, index, begin_ns

    def __enter__(self) -> "Round":  # noqa: PYI034 - Self came with Python 3.11
        rounds = self._rounds
        here = rounds.recorder.here()
        self._outer = rounds.recorder.innermost.get()
        self.number = here.number
        index = rounds.next if self._index is None else as_index(self._index, rounds.next)
        self._begun = rounds.begin(index, monotonic_ns() if self._begin_ns is None else self._begin_ns)
        self.ground = Ground(here.ground.ident, here.ground.thread, Scope(index << slots.THREAD_BITS))
        rounds.recorder.innermost.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._rounds.recorder.innermost.set(self._outer)
        self._rounds.end(self._begun)

    def again(self) -> "Round":
        return Round(self._rounds, self._index)


class Step(Decorator):
    """One optimizer step: a phase "step", and a round of its own where no round is open around it."""

    __slots__ = ("_begin_ns", "_index", "_phase", "_round", "_rounds", "_template")

    def __init__(self, rounds: Rounds, phase: Phase, index: Any = None, begin_ns: int | None = None) -> None:
        self._rounds, self._template, self._index, self._begin_ns = rounds, phase, index, begin_ns

    def __enter__(self) -> Phase:
        alone = not self._rounds.open
        self._round = Round(self._rounds, self._index, self._begin_ns) if alone else None
        if self._round is not None:
            self._round.__enter__()
        self._phase = StepPhase.like(self._template)
        if not alone and self._index is not None:
            self._phase.attrs["step"] = self._index
        return self._phase.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._phase.__exit__(kind, error, trace)
        if self._round is not None:
            self._round.__exit__(kind, error, trace)

    def again(self) -> "Step":
        return Step(self._rounds, self._template, self._index)


def steps(items: Iterable[T], rounds: Rounds, data: Phase, step: Phase) -> Iterator[T]:
    """Yields the items: the wait for each is a phase `data`, what is done with it a `Step`.

    Where steps are rounds, a wait belongs to the round it leads to, and the last one, which ends the data, to the last.
    """
    iterator = iter(items)
    while True:
        alone = not rounds.open
        waiting = data.again()
        before = rounds.recorder.scope.bits
        if alone:
            rounds.recorder.scope.bits = rounds.next << slots.THREAD_BITS
        with waiting:
            try:
                item = next(iterator)
            except StopIteration:
                if alone:
                    rounds.recorder.scope.bits = before
                    waiting.where = before | waiting.ground.thread
                return
        with Step(rounds, step, begin_ns=waiting.begin):
            yield item


def as_index(index: Any, otherwise: int = -1) -> int:
    """A round's index as a number that the server keeps; `otherwise` for None and for what is none."""
    try:
        number = int(index)
    except Exception:  # noqa: BLE001 - whatever was given, a training goes on
        return otherwise
    return number if 0 <= number < MAX_INDEX else otherwise
