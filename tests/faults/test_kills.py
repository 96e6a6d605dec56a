"""SIGKILL of each part in the middle of a training: Postgres ends up with what had been recorded, once."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.product import Product, alive, reachable_folder, started, until
from tests.faults.training import Training

THREADS = 2


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:
    with reachable_folder() as folder, started(folder / "data") as product:
        yield product


@pytest.fixture
def training(product: Product, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Training]:
    training = Training(product, tmp_path, request.node.name, threads=THREADS)
    try:
        training.go_on(200)
        until(30, training.run, "the run is known")
        yield training
    finally:
        training.close()


def assert_exactly_what_was_recorded(training: Training, phases: list[dict[str, Any]], *, killed: bool) -> None:
    recorded = {tuple(map(int, line.split())) for line in training.oracle.read_text().splitlines()}
    assert len(recorded) == training.lines()
    stored = Counter((p["attrs"]["thread"], p["attrs"]["i"]) for p in phases if p["state"] == "ok")
    assert recorded <= stored.keys(), f"lost: {sorted(recorded - stored.keys())[:5]}"
    assert set(stored.values()) == {1}, f"doubled: {[key for key, n in stored.items() if n > 1][:5]}"
    in_flight = Counter(thread for thread, _ in stored.keys() - recorded)
    assert all(count <= 1 for count in in_flight.values()), f"never recorded: {stored.keys() - recorded}"
    others = [p["state"] for p in phases if p["state"] != "ok"]
    assert others.count("aborted") == len(others) <= (THREADS if killed else 0), others


def test_a_killed_training_process_loses_nothing_that_it_had_recorded(training: Training) -> None:
    training.process.kill()
    training.process.wait(5)
    assert_exactly_what_was_recorded(training, training.settled(), killed=True)
    state = until(30, lambda: (run := training.run()) and run["state"] != "running" and run["state"], "its end is seen")
    assert state == "lost"


def test_a_killed_shipper_is_replaced_and_nothing_is_lost_or_doubled(training: Training) -> None:
    before = training.shippers()
    assert before
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    until(5, lambda: not any(map(alive, before)), "the shipper is gone")
    until(30, training.shippers, "a round of the training starts another shipper")
    training.go_on(200)
    training.finish()
    assert_exactly_what_was_recorded(training, training.settled(), killed=True)


@pytest.mark.parametrize("part", ["server", "postgres", "valkey"])
def test_a_killed_part_of_the_server_comes_back_and_nothing_is_lost_or_doubled(training: Training, part: str) -> None:
    needle = {"server": "dashboard.project.serve", "postgres": "/bin/postgres", "valkey": "valkey-server"}[part]
    victim = training.product.pids(needle)[0]
    os.kill(victim, signal.SIGKILL)
    training.go_on(300)
    until(30, lambda: training.product.try_get("/api/v1/runs"), f"the server answers after the end of {part}")
    assert not alive(victim)
    training.finish()
    assert_exactly_what_was_recorded(training, training.settled(), killed=True)
