"""How well noise is known from few rounds, and how far rare values lie."""

import numpy as np
import pytest

from ingest.detection import noise
from ingest.detection.straggler import judge
from tests.ingest import scenarios
from tests.ingest.detection.histories import history
from tests.ingest.detection.test_straggler import named


def normal(rounds: int, workers: int, seed: int, sigma: float = 0.1) -> np.ndarray:
    return np.exp(sigma * np.random.default_rng(seed).standard_normal((rounds, workers)))


@pytest.mark.parametrize(("rounds", "workers", "within"), [(20, 2, 0.40), (20, 3, 0.28), (20, 64, 0.1)])
def test_sigma_is_that_of_the_noise_and_seldom_far_below(rounds: int, workers: int, within: float) -> None:
    found = np.array([noise.pooled(normal(rounds, workers, seed)) for seed in range(200)])

    assert np.quantile(found, 0.02) > 0.1 * (1 - within)
    assert np.quantile(found, 0.98) < 0.1 * (1 + within + 0.2)


def test_a_few_slow_rounds_do_not_pass_for_noise() -> None:
    rows = normal(20, 8, seed=1)
    slow = rows.copy()
    slow[7, 3] *= 10

    assert noise.pooled(slow) < 1.3 * noise.pooled(rows)


def test_standing_offsets_and_what_all_share_are_no_noise() -> None:
    rows = normal(20, 8, seed=2, sigma=0.02)
    uneven = rows * np.linspace(1, 3, 8) * np.linspace(1, 5, 20)[:, np.newaxis]

    assert noise.pooled(uneven) < 1.5 * noise.pooled(rows)


def test_rare_values_that_lie_far_out_are_told_where_there_are_enough() -> None:
    dice = np.random.default_rng(5)
    heavy = np.exp(0.07 * dice.standard_t(4, (20, 64)))

    assert noise.heaviness(normal(20, 64, seed=3)) < 1.1
    assert noise.heaviness(heavy) > 1.2
    assert noise.heaviness(heavy[:, :4]) == 1.0
    assert noise.heaviness(np.full((20, 64), 2.0)) == 1.0


def test_those_that_were_named_do_not_hide_those_that_follow() -> None:
    def train(worker: str, index: int) -> float:
        usual = 30.0 + ((hash_of(worker) * 7 + index * 11) % 13 - 6) / 3
        return usual * (4 if index in (12, 15) and worker in ("rank-3", "rank-4") else 1)

    scenario = scenarios.exchange("twice", scenarios.crew(16), rounds=16, train=train, encode=2.0)

    first, again = (judge(history(scenario, upto=index)) for index in (12, 15))

    assert named(first) == named(again) == {("train", "rank-3"), ("train", "rank-4")}
    assert again.once[0].evidence["cohorts"][0]["heavy_tails"] < 1.2


def hash_of(worker: str) -> int:
    return int(worker.removeprefix("rank-"))


@pytest.mark.parametrize(("ratio", "expected"), [(1.9, set()), (2.2, {("train", "rank-3")})])
def test_of_many_twice_is_needed_until_the_noise_is_known(ratio: float, expected: set[tuple[str, str]]) -> None:
    scenario = scenarios.exchange(
        "an early one", scenarios.crew(16), rounds=3, encode=2.0,
        train=lambda worker, index: 30.0 * (ratio if worker == "rank-3" and index == 2 else 1 + hash_of(worker) / 500),
    )  # fmt: skip

    judgement = judge(history(scenario))

    assert named(judgement) == expected
    (sight,) = [sight for sight in judgement.sights if sight.phase == "train"]
    assert (sight.smallest_ratio, sight.abstained) == (2.0, "noise not known yet: less than 2.0 x is not named")
