"""Who is served next, given what teams have used and what waits; and what a team owes for what was read in vain."""

import itertools
import time
import uuid
from collections import Counter

import pytest

from ingest.api.debts import CREDIT_S, FORGIVEN, Debts
from ingest.api.gate import Gate
from ingest.api.shares import Shares
from ingest.api.waiting import Ticket, Waiting
from ingest.store.arrivals import Fault
from ingest.store.telemetry import Outcome

ONE, OTHER, THIRD = (uuid.UUID(int=number) for number in (1, 2, 3))


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


def ticket(team_id: uuid.UUID, size: int = 100) -> Ticket:
    """A request of so many bytes."""
    return Ticket(team_id, b"x" * size, "", time.time_ns())


def taken(waiting: Waiting) -> list[uuid.UUID]:
    """Whose requests go into the next transaction, in their order."""
    return [each.team_id for each in waiting.take(lambda _: True)]


def refusal(waiting: Waiting, late: Ticket) -> int:
    """The status with which a request is turned away."""
    with pytest.raises(Fault) as refused:
        waiting.put(late)
    return refused.value.status


def done(each: Ticket, seconds: float, wasted: float = 0.0) -> Ticket:
    """The ticket, answered after so many seconds of work."""
    each.spent_s, each.wasted_s = seconds, wasted
    each.outcome.set_result(Outcome())
    return each


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


def test_a_single_request_goes_before_a_hundred_of_another_team_that_came_first() -> None:
    waiting = Waiting()
    for _ in range(100):
        waiting.put(ticket(ONE))
    taken(waiting)
    waiting.put(ticket(OTHER))
    assert taken(waiting)[0] == OTHER


def test_dear_requests_of_one_team_do_not_ride_with_those_of_another() -> None:
    waiting = Waiting()
    for _ in range(20):  # learn that one team's are dear
        waiting.put(ticket(ONE))
        for each in waiting.take(lambda _: True):
            waiting.settle(done(each, 0.3))
    for _ in range(3):
        waiting.put(ticket(ONE))
        waiting.put(ticket(OTHER))
    groups = list(iter(lambda: taken(waiting), []))
    assert all(len(set(group)) == 1 for group in groups), groups
    assert Counter(itertools.chain(*groups)) == {ONE: 3, OTHER: 3}


def test_a_team_of_which_enough_is_being_written_is_passed_over() -> None:
    waiting = Waiting()
    for team_id in (ONE, ONE, OTHER):
        waiting.put(ticket(team_id))
    assert [each.team_id for each in waiting.take(lambda team_id: team_id != ONE)] == [OTHER]
    assert len(waiting) == 2


def test_a_full_queue_makes_room_for_a_team_that_has_less_in_it() -> None:
    waiting = Waiting(most=8)
    crowd = [ticket(team_id) for team_id in (ONE, THIRD) for _ in range(4)]
    for each in crowd:
        waiting.put(each)
    assert refusal(waiting, ticket(ONE)) == 503
    waiting.put(late := ticket(OTHER))
    sent_away = [each for each in crowd if each.outcome.done()]
    assert [each.outcome.result().fault.status for each in sent_away] == [429]  # type: ignore[union-attr]
    assert sent_away[0] in (crowd[3], crowd[7])  # somebody's newest
    assert not late.outcome.done()
    assert len(waiting) == 8


def test_large_bodies_of_one_team_leave_half_of_the_memory_to_others() -> None:
    waiting = Waiting(most_bytes=1_000)
    for _ in range(5):
        waiting.put(ticket(ONE, 100))
    assert refusal(waiting, ticket(ONE, 100)) == 429
    waiting.put(ticket(OTHER, 500))


def test_a_team_that_owes_too_much_is_sent_away_until_it_is_forgiven() -> None:
    debts = Debts()
    debts.owe(ONE, CREDIT_S, now=0.0)
    debts.require_credit(ONE, now=0.0)
    debts.owe(ONE, 1.0, now=0.0)
    with pytest.raises(Fault) as refused:
        debts.require_credit(ONE, now=0.0)
    assert (refused.value.status, refused.value.retry_s) == (429, round(1 / FORGIVEN))
    debts.require_credit(OTHER, now=0.0)
    debts.require_credit(ONE, now=float(refused.value.retry_s))


def test_what_waits_of_a_team_that_owes_is_sent_away_unread_and_costs_it_nothing() -> None:
    waiting = Waiting()
    waiting.put(ticket(ONE))
    (first,) = waiting.take(lambda _: True)
    waiting.put(second := ticket(ONE))
    waiting.settle(done(first, CREDIT_S + 1, CREDIT_S + 1))
    assert waiting.take(lambda _: True) == []
    fault = second.outcome.result().fault
    assert fault is not None
    assert (fault.status, fault.code) == (429, "too_many_refused")
    assert refusal(waiting, ticket(ONE)) == 429
    waiting.put(ticket(OTHER))


def test_bodies_on_their_way_may_fill_half_of_the_memory_for_one_team() -> None:
    gate = Gate(most=8, most_bytes=1_000)
    with gate.passing(ONE) as took, gate.passing(OTHER) as others:
        took(500)
        with pytest.raises(Fault) as refused:
            took(1)
        others(500)
        with pytest.raises(Fault) as full:
            others(1)
    assert (refused.value.status, full.value.status) == (429, 503)
    assert not len(gate)
    with gate.passing(ONE) as took:
        took(500)
