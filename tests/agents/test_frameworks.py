"""Real trainings of Lightning, Trainer and Accelerate, by the README's own lines: rounds, phases, metrics and ends."""

import itertools
import statistics
from collections import Counter
from pathlib import Path

from tests.agents.collector import Collector, Heard
from tests.agents.framework_runs import around, counts, metrics, needs, readme_lines, said, train

PARTS = ["forward", "backward", "optimizer"]


def check_rounds(heard: Heard, rounds: int, *, gaps: bool = False) -> None:
    """Rounds follow on each other, each begins with its wait for data, and its phases explain it."""
    found = [row for row in heard.of("round") if row["ended"]]
    assert [row["round"] for row in found] == list(range(rounds))
    for before, after in itertools.pairwise(found):
        assert gaps or before["begin_ns"] + before["duration_ns"] == after["begin_ns"]
    shares = []
    for row in found:
        outer = [each for each in heard.phases() if each["round"] == row["round"] and each["parent"] == -1]
        first = min(outer, key=lambda each: int(each["begin_ns"]))
        assert (first["name"], first["begin_ns"]) == ("data", row["begin_ns"])
        shares.append(sum(each["duration_ns"] for each in outer) / row["duration_ns"])
    assert 0.95 <= statistics.median(shares) <= 1.001, shares


@needs("lightning")
def test_fits_of_lightning_are_told_by_one_callback_and_one_that_fails_alone_is_failed(
    collector: Collector, tmp_path: Path
) -> None:
    body = f"{readme_lines('lightning')}\nthat_fails()\n"
    heard, unsized, failed = train(collector, tmp_path, "lightning", body, fails=True)
    check_rounds(heard, 12)
    assert counts(heard) == {"data": 12, "step": 12, **dict.fromkeys(PARTS, 12), "save": 2}
    assert [around(heard, part) for part in PARTS] == [{"step"}] * 3
    begun = said(heard, "begin")
    assert (begun["rounds"], begun["config"]["width"], begun["config"]["max_epochs"]) == (12, 64, 2)
    assert begun["model_bytes"] == (64 * 64 + 64) * 4
    assert said(heard, "finish") == {"state": "finished"}
    check_rounds(unsized, 12)
    assert said(unsized, "finish") == {"state": "finished"}
    assert said(failed, "finish") == {"state": "failed", "error": "ValueError: no such batch"}
    assert {row["name"] for row in failed.phases() if row["state"] == "error"} == {"step", "forward"}


@needs("lightning")
def test_lightning_takes_a_callback_from_the_environment_on_each_rank(collector: Collector, tmp_path: Path) -> None:
    chosen = {"ROUNDWATCH_LIGHTNING": "1", "ROUNDWATCH_PROJECT": "from-env", "OLDER_NAME": "1"}
    workers = train(collector, tmp_path, "lightning", "of_two_ranks()", ranks=2, **chosen)
    assert [heard.identity["worker"] for heard in workers] == ["rank-0", "rank-1"]
    for heard in workers:
        assert heard.identity["project"] == "from-env"
        check_rounds(heard, 6)
        # Of two batches that make a step only the second's gradients are reduced.
        parts = {"forward": 12, "backward": 12, "allreduce": 6, "optimizer": 6, "eval": 2}
        assert {name: counts(heard)[name] for name in parts} == parts
        assert {"loss", "val_loss"} <= metrics(heard)
        assert said(heard, "finish") == {"state": "finished"}


@needs("transformers")
def test_a_training_of_trainer_is_told_by_one_callback(collector: Collector, tmp_path: Path) -> None:
    (heard,) = train(collector, tmp_path, "transformers", readme_lines("transformers"))
    check_rounds(heard, 8)
    assert counts(heard) >= Counter(step=8, forward=16, backward=16, optimizer=8, eval=2, save=2)
    assert [around(heard, part) for part in PARTS] == [{"step"}] * 3
    assert metrics(heard) == {"loss", "grad_norm", "learning_rate", "eval_loss"}
    begun = said(heard, "begin")
    assert (begun["rounds"], begun["config"]["gradient_accumulation_steps"]) == (8, 2)
    assert not [value for value in begun["config"].values() if str(tmp_path) in str(value)]
    assert said(heard, "finish") == {"state": "finished"}


@needs("transformers")
def test_trainer_tells_of_the_all_reduce_of_two_ranks(collector: Collector, tmp_path: Path) -> None:
    body = f"arguments.eval_strategy = arguments.save_strategy = 'no'\n{readme_lines('transformers')}"
    workers = train(collector, tmp_path, "transformers", body, ranks=2)
    assert [heard.identity["rank"] for heard in workers] == [0, 1]
    for heard in workers:
        check_rounds(heard, 4)
        # The first of two batches shows Trainer's wrapper, from then on it is watched.
        assert counts(heard) >= Counter(forward=7, backward=7, allreduce=4, optimizer=4)
        assert said(heard, "finish") == {"state": "finished"}


@needs("accelerate")
def test_a_loop_of_accelerate_is_told_by_its_tracker_on_each_rank(collector: Collector, tmp_path: Path) -> None:
    workers = train(collector, tmp_path, "accelerate", readme_lines("accelerate"), ranks=2, ACCELERATE_USE_CPU="1")
    assert [heard.identity["rank"] for heard in workers] == [0, 1]
    for heard in workers:
        check_rounds(heard, 4, gaps=True)
        assert counts(heard) >= Counter([*PARTS, "allreduce", "step"] * 4)
        assert said(heard, "finish") == {"state": "finished"}
    first, second = workers
    assert (said(first, "begin")["config"], metrics(first)) == ({"lr": 0.1}, {"loss"})
    assert (said(second, "begin")["config"], metrics(second)) == ({}, set())
