"""What TorchTitan's log and Flower's replies tell: spans as phases, and clients' phases at the server's time."""

import inspect
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roundwatch.integrations import accelerate, flower, lightning, transformers
from tests.agents.collector import Collector
from tests.agents.framework_runs import around, counts, metrics, needs, readme_lines, said, train
from tests.agents.recorder import Recording

ROUNDS = 2


@needs("torchtitan")
def test_spans_of_torchtitan_are_phases_and_its_steps_rounds(collector: Collector, tmp_path: Path) -> None:
    (heard,) = train(collector, tmp_path, "torchtitan", "", fails=True)
    assert heard.identity["project"] == "llama"
    assert [row["round"] for row in heard.of("round") if not row["ended"]] == [0, 1, 2]
    once = {"optimizer": 2, "save": 1}
    assert counts(heard) == dict.fromkeys(["step", "data", "fwd_bwd", "post_dataloading_process"], 3) | once
    assert [around(heard, name) for name in ("data", "fwd_bwd", "post_dataloading_process")] == [
        *({"step"}, {"step"}, {"fwd_bwd"})
    ]
    assert {row["kind"] for row in heard.phases("fwd_bwd")} == {"compute"}
    failed = [row for row in heard.phases() if row["state"] == "error"]
    assert {(row["name"], row["attrs"]["error"]) for row in failed} == {
        *(("fwd_bwd", "ValueError: no such batch"), ("step", "ValueError: no such batch"))
    }
    assert metrics(heard) == {"loss"}
    assert [row["name"] for row in heard.of("event")] == ["training_start"]
    assert said(heard, "finish") == {"state": "failed", "error": "ValueError: no such batch"}


def spans(rows: list[dict[str, Any]], index: int, shift: int) -> list[tuple[str, int, int]]:
    """(name, begin, end) of the phases of a round, by their begin."""
    found = [row for row in rows if row["round"] == index]
    begins = sorted((row["begin_ns"] + shift, row["duration_ns"], row["name"]) for row in found)
    return [(name, begin, begin + duration) for begin, duration, name in begins]


@needs("flower")
def test_clients_of_flower_are_told_by_their_replies_at_the_servers_time(collector: Collector, tmp_path: Path) -> None:
    (heard,) = train(collector, tmp_path, "flower", readme_lines("flower"))
    assert (heard.identity["role"], said(heard, "begin")["rounds"]) == ("coordinator", ROUNDS)
    assert said(heard, "finish") == {"state": "finished"}
    own = [row for row in heard.phases() if row["worker"] is None]
    assert {row["name"] for row in own} == {"prepare", "wait", "aggregate"}
    assert [row["attrs"]["after"] for row in own if row["name"] == "wait"] == ["train", "eval"] * ROUNDS
    to_unix = time.time_ns() - time.monotonic_ns()  # what others did is told in Unix time, and is so of this machine
    for part, index in itertools.product((0, 1), range(ROUNDS)):
        rows = [row for row in heard.phases() if row["worker"] == f"client-{part}"]
        told = spans(rows, index, 0)
        assert [name for name, *_ in told] == ["data", "train", "eval"]
        waits = [span for span in spans(own, index, to_unix) if span[0] == "wait"]
        error = max(row["attrs"]["clock_error_s"] for row in rows) * 1e9
        assert 0 < error < 1e9
        # The second client's clock is 5 s ahead of the server's, but messages tell that.
        for name, begin, end in told:
            _, first, last = waits[name == "eval"]
            assert first - error <= begin < end <= last + error
    told_of = {row["worker"] for row in heard.of("sample") if row["metric"]["name"] == "eval_loss"}
    assert told_of == {None, "client-0", "client-1"}


@needs("flower")
def test_a_start_of_flower_that_fails_is_failed(collector: Collector, tmp_path: Path) -> None:
    (heard,) = train(collector, tmp_path, "flower", "that_fails()", fails=True)
    assert said(heard, "finish") == {"state": "failed", "error": "ValueError: no such round"}
    assert said(heard, "begin")["config"] == {"lr": 0.1}
    assert [row["state"] for row in heard.phases("aggregate") if row["round"] == 1] == ["error"]


@pytest.mark.parametrize("hooks", [accelerate.Hooks, lightning.Hooks, transformers.Hooks])
def test_no_callback_raises_whatever_a_framework_gives_it(hooks: type, recording: Recording) -> None:
    made = hooks("p", run=recording.run)
    for name, call in inspect.getmembers(made, inspect.ismethod):
        if not name.startswith("_"):
            told = [each for each in inspect.signature(call).parameters.values() if each.kind is not each.VAR_KEYWORD]
            call(*[object() for _ in told])


def test_a_client_tells_of_a_bounded_number_of_phases() -> None:
    told: list[tuple[str, int, int]] = []
    token = flower._told.set(told)
    try:
        for _ in range(flower.MOST_TOLD + 5):
            with flower.phase("train"):
                pass
    finally:
        flower._told.reset(token)
    assert len(told) == flower.MOST_TOLD


def test_messages_that_a_strategy_makes_one_by_one_are_passed_on_one_by_one(recording: Recording) -> None:
    made: list[int] = []

    class Strategy:
        def configure_train(self, _: int) -> Iterator[int]:
            for each in range(3):
                made.append(each)
                yield each

    strategy = Strategy()
    taken: list[int] = []
    flower.Server(recording.run, own=False)._wrap(strategy, "configure_train", "prepare")
    for each in strategy.configure_train(1):
        assert made == [*taken, each]
        taken.append(each)
    assert taken == [0, 1, 2]
    assert {row.name for row in recording.phases()} == {"prepare"}
