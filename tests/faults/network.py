"""What a network does to connections and requests, between shippers and server and between viewers and server."""

import random
import time
from collections.abc import Callable

from tests.e2e.product import until
from tests.faults.proxy import Proxy
from tests.faults.stage import Stage

Times = dict[str, float]
Fault = Callable[[Stage, random.Random], Times]


def harmed(where: str, how: str) -> Fault:
    """The fault that harms the `wire` (shipper to server) or the `window` (viewer to server) for some seconds."""

    def fault(stage: Stage, rng: random.Random) -> Times:
        proxy: Proxy = getattr(stage, where)
        HARMS[how](proxy, rng)
        try:
            time.sleep(rng.uniform(2, 7))  # this is the fault itself
        finally:
            proxy.heal()
        return {}

    return fault


def habit(name: str) -> Fault:
    """The fault that treats half of a shipper's requests so (Postman.habit) until a few have been."""

    def fault(stage: Stage, rng: random.Random) -> Times:
        goal = stage.postman.harmed + rng.randint(3, 12)
        stage.postman.habit = name
        try:
            until(60, lambda: stage.postman.harmed >= goal, f"requests come by to {name}")
        finally:
            stage.postman.heal()
        until(60, lambda: stage.postman.underway == 0, "what is late has come")
        return {}

    return fault


def _delay(proxy: Proxy, rng: random.Random) -> None:
    proxy.delay_s = rng.uniform(0.05, 0.6)


def _slice(proxy: Proxy, rng: random.Random) -> None:
    proxy.slice_bytes = 1


def _cut_after(proxy: Proxy, rng: random.Random) -> None:
    proxy.cut_after(int(2 ** rng.uniform(0, 14)))


HARMS: dict[str, Callable[[Proxy, random.Random], None]] = {
    "delay": _delay,
    "stall": lambda proxy, _: proxy.stall(),
    "reset": lambda proxy, _: proxy.reset(),
    "cut": lambda proxy, _: proxy.cut(),
    "cut after N bytes": _cut_after,
    "one-byte slices": _slice,
}
