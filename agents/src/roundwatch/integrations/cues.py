"""A training as its framework's callbacks tell of it: phases that begin in one call and end in another."""

from collections.abc import Mapping
from typing import Any

from roundwatch import slots
from roundwatch.gathering import StepPhase
from roundwatch.phases import Phase
from roundwatch.rounds import as_index
from roundwatch.run import Run

Error = BaseException | None
MAX_TEXT = 200


class Cues:
    """The rounds and phases of one training, all told in one thread and task.

    As with `run.steps`, a round is an optimizer step with the wait for its data, and begins with that wait; it ends
    where the next begins, so that what a framework does in between (evaluation, checkpoints) belongs to the step
    before. Where a round is open already, what is told belongs to it.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._rounds = run._rounds  # noqa: SLF001 - no call of the SDK begins a round in the past
        self._alone = not self._rounds.open
        self._index = -1
        self._next = -1
        self._before = 0
        self._data: Phase | None = None
        self._parts: list[tuple[str, Phase]] = []

    @property
    def untold(self) -> bool:
        """Whether no round has begun, and no phase is open."""
        return self._index < 0 and not self._parts and self._data is None

    def wait(self, index: int) -> None:
        """The step before is over, and the wait for the data of step `index` begins."""
        if self._data is not None:
            return
        self._end_parts(None)
        self._next = as_index(index, self._rounds.next)
        scope = self._rounds.recorder.scope
        self._before = scope.bits
        if self._alone:
            scope.bits = self._next << slots.THREAD_BITS
        self._data = self.run.phase("data").__enter__()

    def step(self, index: int) -> None:
        """The data is there and step `index` begins; several parts of one step come with the same index."""
        data, self._data = self._data, None
        self._end_parts(None)
        if data is not None:
            data.__exit__(None, None, None)
        index = as_index(index, self._rounds.next)
        if self._alone and index != self._index:
            self._rounds.follow(index, None if data is None else data.begin)
        self._index = index
        attrs: dict[str, Any] = {} if self._alone else {"step": index}
        self.begin("step", **attrs)

    def no_data(self) -> None:
        """The wait brought nothing: the data has come to its end."""
        if self._data is not None:
            data, self._data = self._data, None
            if self._alone:
                self._rounds.recorder.scope.bits = self._before
                data.where = self._before | data.ground.thread
            data.__exit__(None, None, None)

    def begin(self, name: str, *, kind: str | None = None, **attrs: Any) -> None:
        """A phase begins within those that are open."""
        self.no_data()
        phase = self.run.phase(name, kind=kind, **attrs)
        if name == "step":
            phase = StepPhase.like(phase)  # its end takes along what `watch_ddp` times in it
        self._parts.append((name, phase.__enter__()))

    def end(self, name: str, error: Error = None) -> None:
        """The innermost open phase of that name ends, and what is open in it; nothing where there is none."""
        if any(name == each for each, _ in self._parts):
            while self._end_part(error) != name:
                pass

    def close(self, error: Error = None) -> None:
        """The training is over: what is open ends, with `error` where it is one that ended it."""
        self.no_data()
        self._end_parts(error)
        self._index = -1  # it may begin anew, with the same step
        if self._alone:
            self._rounds.end_flat()

    def _end_parts(self, error: Error) -> None:
        while self._parts:
            self._end_part(error)

    def _end_part(self, error: Error) -> str:
        name, phase = self._parts.pop()
        phase.__exit__(None if error is None else type(error), error, None)
        return name


def combined(name: str, module: str, hooks: type, *bases: type) -> type:
    """A class of `module` with our hooks before those of a framework's own, which is only now imported."""
    doc = {"__module__": module, "__qualname__": name, "__doc__": hooks.__doc__}
    return type(name, (hooks, *dict.fromkeys(bases)), doc)


def model_bytes(model: Any) -> int:
    """The size of one copy of a torch module's parameters."""
    return sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())


def plain(value: Any, depth: int = 4) -> Any:
    """A framework's configuration as `init` takes it: what has no form of its own as a short text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth and isinstance(value, Mapping):
        return {str(name): plain(each, depth - 1) for name, each in value.items()}
    if depth and isinstance(value, list | tuple):
        return [plain(each, depth - 1) for each in value]
    return str(value)[:MAX_TEXT]
