"""All faults, by name: to add one, write a function in the module of its sort and a line here."""

import random
from collections.abc import Callable

from tests.faults import jumps, kills, network, shippers, stops, valkey
from tests.faults.inside.sitecustomize import POINTS
from tests.faults.network import habit, harmed
from tests.faults.stage import Stage

# Applies itself and heals; returns the seconds that named recoveries took. Raises AssertionError for what is broken.
Fault = Callable[[Stage, random.Random], dict[str, float]]

FAULTS: dict[str, Fault] = {
    "training killed": kills.training,
    "shipper killed": kills.shipper,
    "agent killed": kills.agent,
    "web killed": kills.web,
    "postgres killed": kills.postgres,
    "postgres backend killed": kills.backend,
    "valkey killed": kills.valkey,
    "worker killed": kills.worker,
    "watcher killed": kills.watcher,
    "all of the server killed": kills.everything,
    **{f"killed, {point}": kills.at_point(point) for point in POINTS},
    "killed with its parent, worker: facts loaded, nothing judged": kills.at_point(
        "worker: facts loaded, nothing judged", whom="parent"
    ),
    "postgres stopped": stops.stopped("postgres"),
    "valkey stopped": stops.stopped("valkey"),
    "worker stopped": stops.stopped("worker"),
    "web stopped": stops.stopped("web"),
    "valkey flushed": valkey.flushed,
    "valkey full": valkey.full,
    "server clock jumps": jumps.jumped("clock"),
    "host clock jumps": jumps.jumped("host_clock"),
    "two shippers at once": shippers.two_at_once,
    "old shipper": shippers.old_one,
    **{f"shipper's connection: {how}": harmed("wire", how) for how in network.HARMS},
    **{f"viewer's connection: {how}": harmed("window", how) for how in network.HARMS},
    **{f"requests: {how}": habit(how) for how in ("lose", "replay", "late", "refuse")},
}

# What is promised, in seconds, for each recovery that a fault may tell of; for all faults: how long until the
# viewer equals the database.
PROMISED: dict[str, Callable[[str], float]] = {
    "2xx": lambda fault: 3.0 if fault.startswith(("web", "killed, web")) else 10.0,
    "live": lambda _: 2.0,
    "tasks": lambda _: 5.0,
    "redone": lambda _: 25.0,
    "up": lambda _: 10.0,
}
