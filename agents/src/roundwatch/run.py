"""init() and Run: what a training calls. After init nothing raises into it, and nothing waits for the network."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from roundwatch import attributes, endings, layout, misuse, opening, slots, stacks, wire
from roundwatch.launch import Launcher
from roundwatch.misuse import describe, harmless
from roundwatch.phases import Phase, Recorder
from roundwatch.ring import OWN_NUMBER, Ring
from roundwatch.rounds import Round, Rounds, Step, as_index, steps
from roundwatch.samplers.memory import process_memory
from roundwatch.track_collector import Collections

T = TypeVar("T")
HAND_OVER_S = 2.0
MAX_HEADS = 4_096


def init(  # noqa: PLR0913 - the promise of the SDK
    project: str,
    *,
    name: str | None = None,
    run_id: str | None = None,
    role: str = "trainer",
    worker: str | None = None,
    rank: int | None = None,
    group: str | None = None,
    rounds: int | None = None,
    config: Any = None,
    tags: Sequence[str] = (),
    site: str | None = None,
    model_bytes: int | None = None,
    flops_per_item: float | None = None,
    mode: str = "online",
) -> "Run":
    """Begins this process's part in a run of `project`; ROUNDWATCH_URL and ROUNDWATCH_TOKEN say where to send it.

    `worker` is unique in the run, `group` its cohort; `rounds` is how many are planned, `model_bytes` the size of one
    model copy, `flops_per_item` the useful model FLOPs of one training sample or token. `mode` is "online", "offline"
    (spool only) or "disabled" (every call does nothing); ROUNDWATCH_MODE overrides it.
    Raises ValueError or TypeError for what can be wrong: a value out of its range, a config that cannot be encoded, a
    bad URL, a spool on a network filesystem. Nothing raises later.
    """
    said = opening.Said(
        project=project,
        name=name,
        rounds=rounds,
        config=config,
        tags=tags,
        model_bytes=model_bytes,
        flops_per_item=flops_per_item,
    )
    who = {"run_id": run_id, "role": role, "worker": worker, "rank": rank, "group": group, "site": site}
    ring, launcher, run_key = opening.begin(said, who, mode)
    return Run(ring, launcher, run_key)


class Run:
    """One process's part in a run. Made by `init`; every method may be called from any thread or asyncio task."""

    def __init__(self, ring: Ring, launcher: Launcher | None, run_id: str) -> None:
        self.id = run_id
        self._ring, self._launcher = ring, launcher
        self._recorder = Recorder(ring)
        self._collections = Collections(self._recorder)
        seldom = (self._read_memory, self._look_for_a_shipper)
        self._rounds = Rounds(self._recorder, each=(self._collections.write,), seldom=seldom)
        self._heads: dict[Any, tuple[int, int]] = {}
        self._finished = ring.silent
        self._watches: list[Any] = []
        self._tracker: Any = None
        self._census: Any = None
        if not ring.silent:
            if os.environ.get("ROUNDWATCH_CENSUS") == "1":
                self._begin_census(each_round=True)
            self._collections.listen()
            endings.watch(self, ring)
            if launcher is not None:
                launcher.look(ring.shipper_seen_ns(), refused=False)

    @harmless(otherwise=lambda run, *_, **__: run.round())
    def round(self, index: int | None = None) -> Round:
        """Round `index` (default: the one after the last) on this worker. Context manager and decorator."""
        return Round(self._rounds, index)

    @harmless(otherwise=lambda run, *_, **__: run.next_round())
    def next_round(self) -> None:
        """Ends the round that the last call began, and begins the next: for the top of a flat loop."""
        self._rounds.follow()

    @harmless(otherwise=lambda run, *_, **__: run.step())
    def step(self, index: int | None = None) -> Step:
        """One optimizer step: a round, or a phase "step" where a round is open. Context manager and decorator."""
        return Step(self._rounds, self.phase("step"), index)

    @harmless(otherwise=lambda run, iterable, *_, **__: run.steps(iterable))
    def steps(self, iterable: Iterable[T]) -> Iterator[T]:
        """Yields what `iterable` yields; waiting for an item is a phase "data", the loop's body a step."""
        return steps(iterable, self._rounds, self.phase("data"), self.phase("step"))

    @harmless()
    def watch_ddp(self, model: Any) -> None:
        """Records forward, backward, all-reduce and optimizer of each step of a DistributedDataParallel as phases."""
        if not self._ring.silent:
            from roundwatch.torch import ddp  # noqa: PLC0415 - torch is there only where a training uses it

            watch = ddp.watch(model, self._recorder)
            self._watches = [*(known for known in self._watches if known.stays(model)), watch]

    @harmless()
    def track(self, obj: Any, label: str) -> None:
        """Remembers `obj` weakly; if it is alive two rounds later, an event "retained" says what still holds it."""
        if not self._ring.silent:
            from roundwatch.track import Tracker  # noqa: PLC0415 - few trainings use it

            if self._tracker is None:
                self._tracker = Tracker(self._recorder, self._rounds.next)
                self._rounds.at_each(self._look_for_the_held)
            self._tracker.add(obj, _short(label))

    @harmless()
    def census(self) -> None:
        """Tells in an event "census" which tensors of torch are alive; at most once in 10 s.

        By device, dtype and size: how many, how many bytes, and for how many rounds. It pauses the training, usually
        for less than 0.1 s, and the event says for how long. ROUNDWATCH_CENSUS=1 has it done where a round ends.
        """
        if not self._ring.silent:
            if self._census is None:
                self._begin_census(each_round=False)
            self._census.take()

    def phase(
        self,
        name: str | None = None,
        /,
        *more: Any,
        kind: str | None = None,
        after: str | None = None,
        device: bool = False,
        **attrs: Any,
    ) -> Phase:
        """A named interval on this worker. Context manager and decorator; `set` adds attributes before it ends.

        `kind` is by name unless given; `after` names the phase of other workers that it waits for; `device` says that
        it runs on the device. Attributes with a meaning: items (samples or tokens), nbytes, artifact, process_group,
        seq. On an exception the phase ends as an error, and the exception passes on.
        """
        phase = Phase()
        phase.recorder = self._recorder
        phase.attrs = attrs
        try:
            phase.head, phase.end_head = self._heads[name if kind is None else (name, kind)]
        except Exception:  # noqa: BLE001 - a new name, or an object that cannot be one
            phase.head, phase.end_head = self._new_heads(attrs.pop("name", "") if name is None else name, kind)
        if more:
            misuse.leave_out(f"phase({_short(name)!r}) takes attributes by keyword, not as {type(more[0]).__name__}")
        if after is not None:
            attrs["after"] = after
        if device:
            attrs["device"] = True
        return phase

    @harmless()
    def event(self, name: str, **attrs: Any) -> None:
        """A named instant on this worker."""
        head, where = slots.head(slots.EVENT, self._name(name)), self._recorder.here().ground.where
        now = time.monotonic_ns()
        if attrs:
            self._ring.put_text(attributes.attributes(attrs), head, where, -1, -1, now, 0)
        else:
            self._ring.put(head, where, -1, -1, now, 0)

    @harmless()
    def log(self, metrics: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Numbers over time, as a mapping or by keyword: each becomes a sample, 2,000 of one call at most.

        What is no number is left out, and said once in the log.
        """
        now = time.monotonic_ns()
        given = attributes.items({} if metrics is None else metrics)
        if given is None:
            misuse.leave_out(
                f"log() takes numbers by their names, log({{'loss': 0.1}}), not a {type(metrics).__name__}"
            )
        numbers = [*(given or ()), *more.items()]
        if len(numbers) > attributes.MAX_ITEMS:
            misuse.leave_out(f"log() takes {attributes.MAX_ITEMS} numbers in one call; the others are left out")
        for name, value in numbers[: attributes.MAX_ITEMS]:
            self._sample(name, "", "training", value, now)

    @harmless()
    def progress(self, done: float, total: float) -> None:
        """How far the innermost open phase is."""
        number = self._recorder.here().number
        share = attributes.ratio(done, total)
        if number >= 0 and share is not None:
            self._ring.progress(number, share)

    @harmless()
    def record_phase(
        self,
        name: str,
        start_ns: int,
        end_ns: int,
        *,
        round: int,  # noqa: A002 - the word of the SDK
        worker: str | None = None,
        kind: str | None = None,
        **attrs: Any,
    ) -> None:
        """A phase with explicit Unix times in nanoseconds, of another worker if `worker` is given: for adapters."""
        begin, end = attributes.whole(start_ns), attributes.whole(end_ns)
        if begin is None or end is None or end < begin:
            misuse.leave_out(f"record_phase({_short(name)!r}) without usable times is left out")
            return
        head = self._head(slots.END, name, kind) | 1 << slots.CLOCK_SHIFT | self._other(worker)
        where = as_index(round) << slots.THREAD_BITS
        text = attributes.attributes(attrs) if attrs else b""
        self._ring.put_text(text, head, where, OWN_NUMBER, -1, begin, end - begin)

    @harmless()
    def record_sample(
        self, metric: str, value: float, time_ns: int, *, worker: str | None = None, device: str | None = None
    ) -> None:
        """A sample with an explicit Unix time in nanoseconds, of another worker if `worker` is given."""
        when = attributes.whole(time_ns)
        if when is None:
            misuse.leave_out(f"record_sample({_short(metric)!r}) without a usable time is left out")
            return
        head = 1 << slots.CLOCK_SHIFT | self._other(worker)
        self._sample(metric, "", "training", value, when, head, 0 if device is None else self._name(device))

    @harmless()
    def finish(self, state: str = "finished", *, error: BaseException | None = None) -> None:
        """Ends this worker's part: "finished", "failed" or "killed". Later calls do nothing. Also called at exit."""
        if self._finished:
            return
        self._finished = True
        self._let_go()
        self._rounds.end_flat()
        ended = _short(state)
        if ended not in layout.ENDS:
            misuse.leave_out(f"finish() takes {', '.join(layout.ENDS)}, not {ended!r}: it is said to be finished")
            ended = "finished"
        data = {"state": ended}
        if error is not None:
            data["error"] = describe(error)
        opening.lifecycle(self._ring, "finish", data)
        endings.forget(self)
        self._hand_over()
        self._ring.close(data["state"])
        if self._launcher is not None:
            self._launcher.leave(refused=self._ring.refused())
        misuse.sum_up()

    def _look_for_the_held(self) -> None:
        if not self._ring.silent:
            self._tracker.at_boundary(self._rounds.next)

    def _begin_census(self, *, each_round: bool) -> None:
        from roundwatch.census import Census  # noqa: PLC0415 - few trainings use it

        self._census = Census(self._recorder, self._rounds.next, each_round=each_round)
        self._rounds.at_each(self._count_tensors)

    def _count_tensors(self) -> None:
        if not self._ring.silent:
            self._census.at_boundary(self._rounds.next)

    def _read_memory(self) -> None:
        if not self._ring.silent:
            now = time.monotonic_ns()
            for reading in process_memory():
                self._sample(reading.metric, reading.unit, reading.source, reading.value, now)
            if not stacks.ours():
                self._ring.answers(stacks.REFUSED)

    def _look_for_a_shipper(self) -> None:
        if self._launcher is not None and not self._ring.silent:
            self._launcher.look(self._ring.shipper_seen_ns(), refused=self._ring.refused())

    @harmless()
    def _let_go(self) -> None:
        """Takes the run's hooks away, and writes what they still hold."""
        self._collections.close()
        if self._census is not None:
            self._census.close()
        for watch in self._watches:
            watch.close()

    def _sample(
        self, metric: Any, unit: str, source: str, value: Any, when: int, head: int = 0, device: int = 0
    ) -> None:
        number = attributes.real(value)
        if number is None:
            misuse.leave_out(f"{_short(metric)!r} is no number and is left out")
            return
        name = self._ring.name(_short(metric), unit, source)
        where = self._recorder.here().ground.where
        self._ring.put_sample(head | slots.head(slots.SAMPLE, name), where, device, when, number)

    def _name(self, name: Any) -> int:
        return self._ring.name(_short(name))

    def _other(self, worker: str | None) -> int:
        return 0 if worker is None else self._name(worker) << slots.OTHER_SHIFT

    def _head(self, sort: int, name: Any, kind: Any) -> int:
        text = _short(name)
        chosen = kind if isinstance(kind, str) and kind in wire.KIND_NUMBER else wire.kind_of(text)
        if kind is not None and chosen is not kind:
            kinds = ", ".join(wire.KINDS)
            misuse.tell_once(f"phase({text!r}) is of the kind {chosen}: there is no {_short(kind)!r}, only {kinds}")
        return slots.head(sort, self._name(text), kind=wire.KIND_NUMBER[chosen])

    def _new_heads(self, name: Any, kind: Any) -> tuple[int, int]:
        """The heads of a phase's start and of its end; kept for the next one that is called so."""
        start = self._head(slots.START, name, kind)
        heads = start, start + slots.END_OF_START
        usual = isinstance(name, str) and (kind is None or isinstance(kind, str))
        if usual and len(self._heads) < MAX_HEADS:
            self._heads[name if kind is None else (name, kind)] = heads
        return heads

    def _hand_over(self) -> None:
        """A ring in private memory goes with its process: waits a moment until the shipper has taken everything."""
        if self._ring.where:
            return
        end, deadline = self._ring.take(), time.monotonic() + HAND_OVER_S
        while not self._ring.taken(end) and time.monotonic() < deadline:
            time.sleep(0.01)


def _short(name: Any) -> str:
    try:
        text = str(name)
        if len(text) > wire.MAX_NAME_CHARS:
            misuse.tell_once(f"a name is cut to {wire.MAX_NAME_CHARS} characters: {text[:40]!r}...")
        return wire.cleaned(text) or "(unnamed)"
    except Exception:  # noqa: BLE001 - an object without a text of its own
        return "(unnamed)"
