"""What waits, and of whom: who is let in, who is sent away, and what goes into one transaction."""

import itertools
import time
import uuid
from collections import Counter

import pytest

from ingest.api.debts import CREDIT_S
from ingest.api.waiting import Ticket, Waiting
from ingest.store.arrivals import Fault
from ingest.store.telemetry import Outcome

ONE, OTHER, THIRD = (uuid.UUID(int=number) for number in (1, 2, 3))


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


def test_nobody_is_sent_away_where_that_would_make_no_room() -> None:
    waiting = Waiting(most_bytes=1_000)
    crowd = [ticket(ONE, 10) for _ in range(31)] + [ticket(uuid.uuid4(), 230) for _ in range(3)]
    for each in crowd:
        waiting.put(each)
    assert refusal(waiting, ticket(OTHER, 300)) == 503  # one of 10 bytes leaves the team no more than the newcomer has
    assert not any(each.outcome.done() for each in crowd)
    waiting.put(ticket(OTHER, 20))
    assert [each for each in crowd if each.outcome.done()] == crowd[29:31]


def test_large_bodies_of_one_team_leave_half_of_the_memory_to_others() -> None:
    waiting = Waiting(most_bytes=1_000)
    for _ in range(5):
        waiting.put(ticket(ONE, 100))
    assert refusal(waiting, ticket(ONE, 100)) == 429
    waiting.put(ticket(OTHER, 500))


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
