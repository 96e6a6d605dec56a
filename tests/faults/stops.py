"""SIGSTOP: a part stands still for some seconds, with all its processes, and goes on as if nothing had been."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.faults.stage import Stage

Times = dict[str, float]


def stopped(part: str) -> Callable[[Stage, random.Random], Times]:
    """The fault that stops a part for 1 to 8 s."""

    def fault(stage: Stage, rng: random.Random) -> Times:
        one = stage.current(near=True)
        with standing_still(stage.tree(part)):
            time.sleep(rng.uniform(1, 8))  # this is the fault itself
        healed = time.monotonic()
        if part == "postgres":
            assert stage.prober
            return {"2xx": stage.prober.first_after(healed) - healed}
        if part in {"valkey", "worker"}:
            return {"tasks": one.await_judged_beyond(one.newest_round()) - healed}
        return {}

    return fault


@contextmanager
def standing_still(pids: list[int]) -> Iterator[None]:
    """Processes that do nothing within the block."""
    _signal(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(pids, signal.SIGCONT)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
