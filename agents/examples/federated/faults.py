"""The faults that the example can have: starvation, models never given back, a sudden death."""

import gc
import os
import signal
import threading
from collections.abc import Callable

from federated import starvation
from federated.data import Floats
from federated.options import Options

Encode = Callable[[Floats], tuple[bytes, Floats]]
COLLECT_EVERY = 10


def perhaps_die(options: Options, number: int) -> None:
    """Kills this trainer halfway through its training, if this is the trainer and the round to die in."""
    if number == options.die_in_round and options.trainer == options.die_trainer:
        death = threading.Timer(options.train_seconds / 2, os.kill, (os.getpid(), signal.SIGKILL))
        death.daemon = True
        death.start()


def perhaps_starved(options: Options, encode: Encode) -> Encode:
    """The encoder, with hardly any CPU if it is to starve."""
    if options.starve_encoder != options.trainer:
        return encode
    starve = starvation.starver()
    return lambda values: starve(lambda: encode(values))


class Retention:
    """If asked for, keeps every round's deltas alive in a reference cycle until the cyclic collector runs.

    The collector is off but for one run in ten rounds, so that the memory grows and falls without end.
    """

    def __init__(self, options: Options) -> None:
        self._rounds = 0
        self._on = options.retain
        if self._on:
            gc.disable()

    def keep(self, deltas: list[Floats]) -> None:
        """Puts them into a namespace that refers to itself, as a callback kept among its own results does."""
        if not self._on:
            return
        namespace: dict[str, object] = {"deltas": deltas}
        namespace["aggregation"] = namespace
        self._rounds += 1
        if self._rounds % COLLECT_EVERY == 0:
            gc.collect()
