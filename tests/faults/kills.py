"""SIGKILL: of each process at a random moment, and at named points of its code."""

import http.client
import os
import random
import signal
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress

from tests.e2e.product import alive, until
from tests.faults.prober import Prober
from tests.faults.stage import Stage

Times = dict[str, float]
ARMED_S = 20.0
SNAPSHOT = "web: while a snapshot is made"


def training(stage: Stage, rng: random.Random) -> Times:
    """A training is killed; another takes its place, and the killed one is accounted for."""
    near = rng.random() < 0.5
    one = stage.current(near=near)
    one.end(kill=True)
    stage.train(near=near)
    return {}


def shipper(stage: Stage, rng: random.Random) -> Times:
    """The shipper that a training started; one of its rounds starts the next."""
    one = stage.current(near=False)
    before = until(30, one.training.shippers, "the training has a shipper")
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    until(30, lambda: set(one.training.shippers()) - set(before), "a round of the training starts another shipper")
    return {}


def agent(stage: Stage, rng: random.Random) -> Times:
    stage.kill("agent")
    stage.part("agent")
    return {}


def watcher(stage: Stage, rng: random.Random) -> Times:
    stage.kill("watcher")
    stage.part("watcher")
    return {}


def web(stage: Stage, rng: random.Random) -> Times:
    victim = stage.part("web")
    killed = stage.kill("web")
    return {"2xx": _first_2xx(stage, killed, victim)}


def postgres(stage: Stage, rng: random.Random) -> Times:
    killed = stage.kill("postgres")
    return {"2xx": _prober(stage).first_after(killed) - killed}


def backend(stage: Stage, rng: random.Random) -> Times:
    """One process of Postgres that serves a client: Postgres then ends all others, and recovers."""
    victims = stage.database.rows(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    os.kill(rng.choice(victims)[0], signal.SIGKILL)
    killed = time.monotonic()
    return {"2xx": _prober(stage).first_after(killed) - killed}


def valkey(stage: Stage, rng: random.Random) -> Times:
    one = stage.current(near=True)
    index = one.newest_round()
    killed = stage.kill("valkey")
    shown = one.await_shown(30) - killed
    return {"live": shown, "tasks": one.await_judged_beyond(index + 1) - killed}


def worker(stage: Stage, rng: random.Random) -> Times:
    """The worker with all its processes."""
    victims = stage.tree("worker")
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    stage.part("worker", other_than=victims[0])
    return {"redone": _redone(stage, killed)}


def everything(stage: Stage, rng: random.Random) -> Times:
    """The supervisor, with which all of the server goes; somebody starts it again."""
    left = stage.product.kill(5)
    assert not left, f"these outlive their supervisor: {left}"
    began = time.monotonic()
    stage.start_again()
    return {"up": _prober(stage).first_after(began) - began}


def at_point(point: str, *, whom: str = "self") -> Callable[[Stage, random.Random], Times]:
    """The fault that ends a process at that point of its code, which is in sitecustomize.POINTS."""
    part = point.partition(":")[0]

    def fault(stage: Stage, rng: random.Random) -> Times:
        victim = stage.part(part)
        armed = stage.points / point
        draft = stage.folder / "armed"
        draft.write_text(whom)
        draft.rename(armed)
        if point == SNAPSHOT:
            _ask_for_snapshot(stage)
        until(ARMED_S, lambda: not armed.exists(), f"a process comes by {point!r}")
        killed = time.monotonic()
        if part == "worker":
            if whom == "parent":
                stage.part("worker", other_than=victim)
            return {"redone": _redone(stage, killed)}
        until(10, lambda: not alive(victim), f"the {part} is gone")
        if part == "web":
            return {"2xx": _first_2xx(stage, killed, victim)}
        stage.part(part, other_than=victim)
        return {"redone": _redone(stage, killed)}

    return fault


def _ask_for_snapshot(stage: Stage) -> None:
    """As a page does that is opened; the others have theirs."""
    url = f"{stage.product.url}/runs/{stage.current(near=True).run}/live/snapshot"
    with suppress(OSError, http.client.HTTPException):
        urllib.request.urlopen(urllib.request.Request(url, headers={"Cookie": stage.cookie}), timeout=10).close()


def _redone(stage: Stage, killed: float) -> float:
    """Seconds until whatever had closed has been judged, and something that closed later."""
    newest = {one: one.newest_round() for one in stage.running()}
    return (
        max(max(one.await_all_judged(index - 1), one.await_judged_beyond(index)) for one, index in newest.items())
        - killed
    )


def _first_2xx(stage: Stage, killed: float, victim: int) -> float:
    """Seconds from the restart of the web server to the first acknowledgement."""
    stage.part("web", other_than=victim)
    restarted = time.monotonic()
    return max(0.0, _prober(stage).first_after(killed) - restarted)


def _prober(stage: Stage) -> Prober:
    assert stage.prober
    return stage.prober
