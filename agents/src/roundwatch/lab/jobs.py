"""Data-parallel jobs: four GPUs with failures to trigger, and 32 ranks of which one is slower than the others."""

import random
from collections.abc import Callable
from dataclasses import replace

from roundwatch.lab.composing import Composer
from roundwatch.lab.shapes import Act, Read, Scenario, Who

DATA_S, FORWARD_S, BACKWARD_S, REDUCE_S, OPTIMIZER_S = 0.01, 0.12, 0.25, 0.04, 0.05
STARVED_RANK, STARVED_S = 2, 0.9
STRAGGLER, SLOWER = 13, 1.4
SLOWER_FROM = 120  # steps of a minute before: what is usual is known once warm-up and five windows are over
Slower = Callable[[int, str], float]


def four_gpus() -> Scenario:
    """One machine with four GPUs; data loading that waits, and gradients that explode."""
    return Scenario(
        name="four-gpus",
        about="4 ranks on one machine; d: data loading waits, g: gradients explode, while the machine is well (2 min)",
        workers=_ranks(4, per_machine=4),
        rounds=240,
        make=_four_gpus,
        config={"model": "transformer", "batch": 32},
        failures={"d": ("data loading of rank-2 waits", 40.0), "g": ("gradients explode", 80.0)},
    )


def straggler() -> Scenario:
    """Thirty-two ranks; one computes 1.4 times as long."""
    return Scenario(
        name="straggler",
        about=f"32 ranks on 4 machines; rank-{STRAGGLER} computes {SLOWER} times as long "
        f"from step {SLOWER_FROM} on, after a minute (3 min)",
        workers=_ranks(32, per_machine=8),
        rounds=300,
        make=lambda index, begin_s, _failing: _step(
            32, index, begin_s, lambda rank, part: _slower(rank, part) if index >= SLOWER_FROM else 1.0
        ),
        config={"model": "transformer", "batch": 8},
    )


def _ranks(count: int, *, per_machine: int) -> tuple[Who, ...]:
    devices = {"devices": f"{per_machine} x NVIDIA H100 80GB HBM3"}
    return tuple(
        Who(name=f"rank-{rank}", machine=f"machine-{rank // per_machine}", rank=rank, conditions=devices)
        for rank in range(count)
    )


def _slower(rank: int, part: str) -> float:
    return SLOWER if rank == STRAGGLER and part in ("forward", "backward") else 1.0


def _four_gpus(index: int, begin_s: float, failing: frozenset[str]) -> Act:
    starved = STARVED_S / DATA_S if "d" in failing else 1.0
    act = _step(4, index, begin_s, lambda rank, part: starved if (rank, part) == (STARVED_RANK, "data") else 1.0)
    exploding = "g" in failing
    dice = random.Random(f"{index} training")  # noqa: S311 - noise, not secrecy
    norm = 1.2 * (1 + 0.1 * dice.random()) * (400.0 if exploding else 1.0)
    loss = (3.0 * 0.99**index + 0.5) * (1 + 0.02 * dice.random()) * (30.0 if exploding else 1.0)
    logged = (Read("rank-0", name, value, act.next_s) for name, value in (("loss", loss), ("grad_norm", norm)))
    return replace(act, reads=tuple(logged))


def _step(ranks: int, index: int, begin_s: float, slower: Slower) -> Act:
    """One optimizer step: nobody's all-reduce ends before the last has come."""
    made = Composer(begin_s)
    dice = random.Random(index)  # noqa: S311 - noise, not secrecy
    for rank in range(ranks):
        for part, seconds in (("data", DATA_S), ("forward", FORWARD_S), ("backward", BACKWARD_S)):
            made.phase(f"rank-{rank}", part, seconds * slower(rank, part) * (1 + 0.02 * dice.random()))
    reduced = max(made.at.values()) + REDUCE_S
    for rank in range(ranks):
        made.until(f"rank-{rank}", "allreduce", reduced, seq=index, process_group="world")
        made.phase(f"rank-{rank}", "optimizer", OPTIMIZER_S)
    return made.act()
