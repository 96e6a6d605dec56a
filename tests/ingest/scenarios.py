"""Named scenarios: what the workers of a run did in each round, shared by detection, ingest and browser tests.

Figures that a published study reported (sixteen hosts of which two encoded for 18 s) are retold here with workers
of our own. Times are seconds since the scenario's begin.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from roundwatch.wire import kind_of


@dataclass(frozen=True)
class Who:
    """A worker of a scenario."""

    name: str
    role: str = "trainer"
    machine: str = ""
    group: str | None = None
    site: str | None = None
    device: str = ""


@dataclass(frozen=True)
class Did:
    """One phase; `parent` is the place in `Scenario.phases` of the phase around it."""

    worker: str
    round: int
    name: str
    begin_s: float
    end_s: float
    attrs: Mapping[str, Any] = field(default_factory=dict)
    parent: int | None = None
    thread: int = 0

    @property
    def kind(self) -> str:
        return kind_of(self.name)


@dataclass(frozen=True)
class Scenario:
    """Workers, the boundaries of their rounds, and their phases; `slow` are the (phase, worker) to be named."""

    name: str
    workers: tuple[Who, ...]
    rounds: tuple[tuple[float, float], ...]
    phases: tuple[Did, ...]
    slow: frozenset[tuple[str, str]] = frozenset()

    def worker(self, name: str) -> Who:
        return next(who for who in self.workers if who.name == name)


# How long a phase takes, in seconds: always, or by worker and round.
Takes = float | Callable[[str, int], float]


def exchange(
    name: str,
    trainers: Iterable[Who],
    *,
    rounds: int,
    train: Takes,
    encode: Takes,
    upload: Takes = 1.0,
    aggregate: float = 3.0,
    apply: Takes = 13.0,
    slow: Iterable[tuple[str, str]] = (),
    attrs: Callable[[str, str, int], Mapping[str, Any]] = lambda _worker, _phase, _index: {},
) -> Scenario:
    """Rounds of train, encode, upload; the coordinator aggregates when all are in; then everybody applies.

    Trainers that are done early wait inside of `apply`, which blocks until the coordinator has aggregated: by the
    bare length of the bar they would look slow. The coordinator waits inside of `aggregate` in the same way.
    """
    crew = tuple(trainers)
    phases: list[Did] = []
    bounds: list[tuple[float, float]] = []
    now = 0.0
    for index in range(rounds):
        ready = {}
        for who in crew:
            at = now
            for phase, takes in (("train", train), ("encode", encode), ("upload", upload)):
                end = at + _seconds(takes, who.name, index)
                phases.append(Did(who.name, index, phase, at, end, attrs(who.name, phase, index)))
                at = end
            ready[who.name] = at
        done = max(ready.values()) + aggregate
        phases.append(Did("coordinator", index, "aggregate", now, done))
        ends = {who.name: done + _seconds(apply, who.name, index) for who in crew}
        phases.extend(Did(who.name, index, "apply", ready[who.name], ends[who.name]) for who in crew)
        bounds.append((now, max(ends.values())))
        now = bounds[-1][1]
    coordinator = Who("coordinator", role="coordinator", machine="machine-coordinator")
    return Scenario(name, (coordinator, *crew), tuple(bounds), tuple(phases), frozenset(slow))


def _seconds(takes: Takes, worker: str, index: int) -> float:
    return takes(worker, index) if callable(takes) else takes


def crew(count: int, *, per_machine: int = 2) -> tuple[Who, ...]:
    """Trainers rank-0 .. rank-(count - 1), so many to a machine."""
    return tuple(Who(f"rank-{rank}", machine=f"machine-{rank // per_machine}") for rank in range(count))


def two_slow_encoders(rounds: int = 2) -> Scenario:
    """Sixteen trainers encode in 1.5 to 2.3 s, but in the last round two of one machine take 17.8 and 18.0 s."""
    members = crew(16)
    late = {"rank-6": 17.8, "rank-7": 18.0}

    def encode(worker: str, index: int) -> float:
        rank = int(worker.removeprefix("rank-"))
        return late[worker] if index == rounds - 1 and worker in late else 1.5 + 0.8 * ((rank * 5) % 16) / 15

    return exchange(
        "two slow encoders", members, rounds=rounds, train=30.0, encode=encode,
        slow=[("encode", worker) for worker in late],
    )  # fmt: skip


def pair(first_s: float, second_s: float, *, rounds: int = 2, slow: Iterable[str] = ()) -> Scenario:
    """Two trainers on two machines whose `prepare` takes these seconds in the last round, 20 s (or less) before."""
    usual = min(first_s, 20.0)

    def encode(worker: str, index: int) -> float:
        return usual if index < rounds - 1 else {"rank-0": first_s, "rank-1": second_s}[worker]

    made = exchange(
        f"a pair, {first_s} s and {second_s} s", crew(2, per_machine=1), rounds=rounds,
        train=48.0, encode=encode, slow=[("prepare", worker) for worker in slow],
    )  # fmt: skip
    return renamed(made, "encode", "prepare")


def two_of_four(rounds: int = 2) -> Scenario:
    """Four trainers of which half encode eight times slower in the last round."""
    return exchange(
        "two slow of four", crew(4, per_machine=1), rounds=rounds, train=20.0,
        encode=lambda worker, index: 16.0 if index == rounds - 1 and worker in ("rank-1", "rank-2") else 2.0,
        slow=[("encode", "rank-1"), ("encode", "rank-2")],
    )  # fmt: skip


def always_slower(ratio: float = 1.4, *, rounds: int = 12, noise: float = 0.03, seed: int = 1) -> Scenario:
    """Eight trainers of which one trains `ratio` times as long from round 6 on."""
    dice = random.Random(seed)  # noqa: S311 - nothing secret
    jitter = {(f"rank-{rank}", index): dice.gauss(0, noise) for rank in range(8) for index in range(rounds)}

    def train(worker: str, index: int) -> float:
        slower = ratio if worker == "rank-3" and index >= 6 else 1.0
        return 30.0 * slower * (1 + jitter[worker, index])

    return exchange(
        "always slower", crew(8), rounds=rounds, train=train, encode=2.0,
        slow=[("train", "rank-3")],
    )  # fmt: skip


def skipped_work(rounds: int = 3) -> Scenario:
    """Half of six trainers have nothing to encode in the last round: the others are not slow beside them."""
    return exchange(
        "skipped work", crew(6), rounds=rounds, train=20.0,
        encode=lambda worker, index: 0.01 if index == rounds - 1 and worker in ("rank-0", "rank-1") else 2.0,
    )  # fmt: skip


def healthy(workers: int, rounds: int, *, noise: float = 0.1, seed: int = 0) -> Scenario:
    """Nobody is slow: every duration varies by itself, `noise` being its coefficient of variation."""
    dice = random.Random(seed)  # noqa: S311 - nothing secret

    def varied(usual: float) -> Takes:
        return lambda _worker, _index: max(usual * (1 + dice.gauss(0, noise)), usual / 10)

    return exchange(
        "healthy", crew(workers), rounds=rounds, train=varied(30.0), encode=varied(2.0), upload=varied(1.0),
        apply=varied(13.0),
    )  # fmt: skip


def renamed(scenario: Scenario, phase: str, name: str) -> Scenario:
    """The same with one phase called otherwise."""
    return replace(
        scenario, phases=tuple(replace(did, name=name) if did.name == phase else did for did in scenario.phases)
    )
