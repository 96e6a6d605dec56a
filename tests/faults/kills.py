"""SIGKILL: of each process at a random moment, and at named points of its code."""

import http.client
import os
import random
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

from tests.e2e.product import alive, until
from tests.faults.prober import Prober
from tests.faults.stage import Stage
from tests.faults.stops import standing_still

Times = dict[str, float]
ARMED_S = 20.0


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
        with PROVOKED.get(point, nullcontext)(stage):
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


@contextmanager
def _page_opened(stage: Stage) -> Iterator[None]:
    """Somebody asks for a snapshot; the viewers have theirs."""
    url = f"{stage.product.url}/runs/{stage.current(near=True).run}/live/snapshot"
    with suppress(OSError, http.client.HTTPException):
        urllib.request.urlopen(urllib.request.Request(url, headers={"Cookie": stage.cookie}), timeout=10).close()
    yield


@contextmanager
def _tasks_waiting(stage: Stage) -> Iterator[None]:
    """The worker stands still, so that rounds wait for their judgement longer than the watcher likes."""
    with standing_still(stage.tree("worker")):
        yield


# What makes a process come by a point that it passes only now and then.
PROVOKED: dict[str, Callable[[Stage], AbstractContextManager[None]]] = {
    "web: while a snapshot is made": _page_opened,
    "watcher: before a task is asked for again": _tasks_waiting,
}


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
