"""Flower: what clients do travels in their replies, for they may reach the SuperLink alone; the server records it.

`ClientApp(mods=[flower.client_mod])` on the clients, `flower.watch(FedAvg(), project="p").start(...)` on the server.
"""

import contextlib
import inspect
import os
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from roundwatch.clock import Clock
from roundwatch.integrations.cues import plain
from roundwatch.misuse import harmless
from roundwatch.run import Run, init

RECORD = "roundwatch"  # a strategy refuses replies with two records of metrics, and averages what stands in theirs
MOST_TOLD = 2_000  # phases of one reply: the rest of a longer training is part of the whole
LEAST_NS = 1_000_000  # what lies between two phases and is shorter is nobody's
_BASE_NS = time.time_ns() - time.monotonic_ns()
_Told = list[tuple[str, int, int]]
_told: ContextVar[_Told | None] = ContextVar("roundwatch.flower", default=None)


def now_ns() -> int:
    """Unix time in nanoseconds that nobody sets while the process lives."""
    return _BASE_NS + time.monotonic_ns()


def client_mod(message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
    """A mod of a ClientApp: puts the begin and end of its phases into the reply. Passes on whatever the app raises."""
    received, told = now_ns(), _Told()
    token = _told.set(told)
    try:
        reply = call_next(message, context)
    finally:
        _told.reset(token)
    _attach(reply, context, told, received)
    return reply


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """A phase of a client, within the function that Flower calls; one within another is part of that."""
    told, begin = _told.get(), now_ns()
    token = _told.set(None)
    try:
        yield
    finally:
        _told.reset(token)
        if told is not None and len(told) < MOST_TOLD:
            told.append((str(name), begin, now_ns()))


@harmless()
def _attach(reply: Any, context: Any, told: _Told, received: int) -> None:
    if reply.has_error():
        return
    from flwr.app import ConfigRecord  # noqa: PLC0415 - where there is a reply, there is Flower

    sent = now_ns()
    whole = reply.metadata.message_type.partition(".")[0]
    phases = _filled(told, "eval" if whole == "evaluate" else whole, received, sent)
    names, begins, ends = ([each[part] for each in phases] for part in range(3))
    columns = {"worker": _worker(context), "names": names, "begin_ns": begins, "end_ns": ends}
    reply.content[RECORD] = ConfigRecord({**columns, "received_ns": received, "sent_ns": sent})


def _filled(told: _Told, whole: str, begin: int, end: int) -> _Told:
    """The phases, and what lies between them as phases called `whole`."""
    found: _Told = []
    for name, first, last in [*told, ("", end, end)]:
        if first - begin >= LEAST_NS:
            found.append((whole, begin, first))
        if name:
            found.append((name, first, last))
        begin = last
    return found


def _worker(context: Any) -> str:
    """Who a client is: as it is told, else by its part of the data, else by its node."""
    part = context.node_config.get("partition-id")
    return os.environ.get("ROUNDWATCH_WORKER") or (f"client-{part}" if part is not None else f"node-{context.node_id}")


def watch(strategy: Any, run: Run | None = None, *, project: str = "", **more: Any) -> Any:
    """Records what `strategy.start` does as the coordinator, and what its clients told; returns the same strategy.

    A phase of a client stands at the server's time; its attribute `clock_error_s` says how wrong that may be. With
    `run` it records into that one, which stays the caller's; else each start is a run of `project`, with the other
    arguments of `roundwatch.init`, that ends with it.
    """
    begin, signature = strategy.start, inspect.signature(strategy.start)

    def start(*args: Any, **kwargs: Any) -> Any:
        told = signature.bind(*args, **kwargs)
        told.apply_defaults()
        with _recording(run, project, told.arguments, more) as server:
            if server is not None:
                server.wrap(strategy, told.arguments)
            return begin(*told.args, **told.kwargs)

    strategy.start = start
    return strategy


@contextlib.contextmanager
def _recording(run: Run | None, project: str, told: dict[str, Any], more: dict[str, Any]) -> Iterator["Server | None"]:
    server = _begin(run, project, told, more)
    try:
        yield server
    except BaseException as error:
        if server is not None:
            server.close("failed" if isinstance(error, Exception) else "killed", error)
        raise
    if server is not None:
        server.close("finished")


@harmless()
def _begin(run: Run | None, project: str, told: dict[str, Any], more: dict[str, Any]) -> "Server":
    config = plain(dict(told.get("train_config") or {}))
    known = {"role": "coordinator", "rounds": told.get("num_rounds"), "config": config}
    return Server(run or init(project, **{**known, **more}), own=run is None)


class Server:
    """One start of a strategy: its own phases, and those in the replies that it receives."""

    def __init__(self, run: Run, *, own: bool) -> None:
        self._run, self._own = run, own
        self._clocks: dict[str, Clock] = {}
        self._sent: dict[str, int] = {}
        self._round: Any = None
        self._index = -1
        self._asked = "train"  # the phase of the clients that is waited for
        self._wrapped: list[tuple[Any, str]] = []

    def close(self, state: str, error: BaseException | None = None) -> None:
        """Ends the round, and the run where it is ours; gives strategy and grid their methods back."""
        for owner, name in reversed(self._wrapped):
            vars(owner).pop(name, None)
        if self._round is not None:
            self._round.__exit__(None, None, None)
        if self._own:
            self._run.finish(state, error=error)

    @harmless()
    def wrap(self, strategy: Any, told: dict[str, Any]) -> None:
        """Listens to the methods of strategy and grid, and to what evaluates on the server."""
        grid = told["grid"]
        self._wrap(strategy, "configure_train", "prepare", before=self._next)
        self._wrap(strategy, "configure_evaluate", "prepare", before=self._evaluates)
        self._wrap(strategy, "aggregate_train", "aggregate", after=lambda _, result: self._log("", result[1]))
        self._wrap(strategy, "aggregate_evaluate", "aggregate", after=lambda _, result: self._log("eval_", result))
        self._wrap(grid, "send_and_receive", "wait", after=lambda _, replies: self._take(replies, None))
        self._wrap(grid, "push_messages", "", after=lambda began, ids: self._sent.update(dict.fromkeys(ids, began)))
        self._wrap(grid, "pull_messages", "", after=lambda _, replies: self._take(replies, now_ns()))
        if told.get("evaluate_fn") is not None:
            told["evaluate_fn"] = self._run.phase("eval")(told["evaluate_fn"])

    def _wrap(
        self,
        owner: Any,
        name: str,
        phase: str,
        before: Callable[[int], None] = lambda _: None,
        after: Callable[[int, Any], None] = lambda _, __: None,
    ) -> None:
        method = getattr(owner, name)
        before, after = harmless()(before), harmless()(after)

        def call(*args: Any, **kwargs: Any) -> Any:
            before(args[0] if args else kwargs.get("server_round", 0))
            began = now_ns()
            waited_for = self._asked if phase == "wait" else None
            with self._run.phase(phase, after=waited_for) if phase else contextlib.nullcontext():
                found = method(*args, **kwargs)
            if inspect.isgenerator(found):
                return self._as_they_come(found, phase, after)
            after(began, found)
            return found

        setattr(owner, name, call)
        self._wrapped.append((owner, name))

    def _as_they_come(self, found: Iterator[Any], phase: str, after: Callable[[int, Any], None]) -> Iterator[Any]:
        """Passes on one by one what a strategy or grid makes one by one: all at once may be more than memory holds."""
        while True:
            began = now_ns()
            with self._run.phase(phase) if phase else contextlib.nullcontext():
                each = next(found, None)
            if each is None:
                return
            after(began, [each])
            yield each

    def _next(self, server_round: int) -> None:
        """Rounds are numbered from 0, Flower's from 1."""
        if self._round is not None:
            self._round.__exit__(None, None, None)
        self._index = server_round - 1
        self._sent.clear()  # what was not answered never will be
        self._round = self._run.round(self._index).__enter__()
        self._asked = "train"

    def _evaluates(self, _: int) -> None:
        self._asked = "eval"

    def _log(self, prefix: str, metrics: Any) -> None:
        numbers = {f"{prefix}{name}": value for name, value in (metrics or {}).items() if not isinstance(value, list)}
        self._run.log(numbers)

    def _take(self, replies: Any, arrived: int | None) -> None:
        """Takes what the mod has put into the replies out of them, and records it."""
        for reply in replies:
            told = None if reply.has_error() else reply.content.pop(RECORD, None)
            if told is not None:
                self._record(reply, told, arrived)

    def _record(self, reply: Any, told: Any, arrived: int | None) -> None:
        worker = told["worker"]
        clock = self._clocks.setdefault(worker, Clock())
        sent = self._sent.pop(reply.metadata.reply_to_message_id, None)
        if sent is not None and arrived is not None:
            clock.learn(worker, sent, told["received_ns"], told["sent_ns"], arrived)
        offset, error = clock.offset(now_ns(), now_ns())
        attrs: dict[str, Any] = {} if error is None else {"clock_error_s": round(error / 1e9, 6)}
        for name, begin, end in zip(told["names"], told["begin_ns"], told["end_ns"], strict=True):
            self._run.record_phase(name, begin - offset, end - offset, round=self._index, worker=worker, **attrs)
        prefix = "eval_" if reply.metadata.message_type.startswith("evaluate") else ""
        for record in reply.content.metric_records.values():
            for name, value in record.items():
                if not isinstance(value, list):
                    when = told["sent_ns"] - offset
                    self._run.record_sample(f"{prefix}{name}", value, when, worker=worker)
