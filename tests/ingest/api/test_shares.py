"""Who is served next, given what teams have used."""

import uuid
from collections import Counter

import pytest

from ingest.api.shares import Shares

ONE, OTHER = (uuid.UUID(int=number) for number in (1, 2))


def served(shares: Shares, costs: dict[uuid.UUID, float], seconds: float) -> Counter[uuid.UUID]:
    """Seconds that each team gets of so many, when it always has a request waiting that costs so much."""
    used: Counter[uuid.UUID] = Counter()
    for team_id in costs:
        shares.join(team_id)
    while sum(used.values()) < seconds:
        team_id = shares.first(costs)
        shares.charge(team_id, costs[team_id])
        used[team_id] += costs[team_id]  # type: ignore[assignment]
    return used


@pytest.mark.parametrize("costs", [(0.1, 0.1), (0.1, 0.001), (0.5, 0.02)])
def test_teams_get_the_same_time_whatever_one_request_of_theirs_costs(costs: tuple[float, float]) -> None:
    used = served(Shares(), dict(zip((ONE, OTHER), costs, strict=True)), 20)
    assert abs(used[ONE] - used[OTHER]) <= max(costs)


def test_who_comes_back_after_a_rest_is_next_and_has_saved_nothing_up() -> None:
    shares = Shares()
    served(shares, {ONE: 0.1, OTHER: 0.1}, 2)
    served(shares, {ONE: 0.1}, 60)
    shares.join(OTHER)
    assert shares.first([ONE, OTHER]) == OTHER
    used = served(shares, {ONE: 0.1, OTHER: 0.1}, 10)
    assert used[OTHER] - used[ONE] <= 0.3


def test_who_had_all_to_itself_does_not_wait_for_a_newcomer_to_catch_up() -> None:
    shares = Shares()
    served(shares, {ONE: 0.1}, 60)
    used = served(shares, {ONE: 0.1, OTHER: 0.1}, 10)
    assert used[ONE] >= 4.5


def test_what_a_team_costs_is_learned_from_what_its_requests_took() -> None:
    shares = Shares()
    before = shares.expected(ONE, 1_000)
    for _ in range(20):
        shares.settle(ONE, 1_000, shares.expected(ONE, 1_000), 0.3)
    assert shares.expected(ONE, 1_000) == pytest.approx(0.3, rel=0.05)
    assert shares.expected(OTHER, 1_000) == before


def test_a_request_that_took_longer_than_expected_is_paid_for_afterwards() -> None:
    shares = Shares()
    shares.join(ONE)
    shares.join(OTHER)
    shares.charge(ONE, 0.001)
    shares.charge(OTHER, 0.01)
    assert shares.first([ONE, OTHER]) == ONE
    shares.settle(ONE, 100, 0.001, 0.5)
    assert shares.first([ONE, OTHER]) == OTHER


def test_teams_that_are_gone_are_forgotten() -> None:
    shares = Shares()
    for number in range(5_000):
        team_id = uuid.UUID(int=number)
        shares.join(team_id)
        shares.first([team_id])
        shares.settle(team_id, 1, 0.0, 0.001)
    assert len(shares._used) < 2_000
    assert len(shares._pace) < 2_000
