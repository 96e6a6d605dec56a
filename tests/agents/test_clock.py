"""The offset to the server's clock comes from the best exchange, and says how wrong it may be."""

from hypothesis import given
from hypothesis import strategies as st

from roundwatch.clock import Clock

SECOND = 1_000_000_000


def learn(clock: Clock, at: int, there: int, back: int, offset: int, name: str = "a") -> None:
    """One exchange that began at `at` and took `there` and `back` on the way, with a clock ahead by `offset`."""
    arrived = at + there
    clock.learn(name, at, arrived + offset, arrived + offset + 5, arrived + 5 + back)


def test_before_the_first_exchange_the_wall_clock_serves_without_a_claim() -> None:
    assert Clock().offset(1_000, 5_000) == (4_000, None)


def test_a_symmetric_exchange_tells_the_offset_exactly() -> None:
    clock = Clock()
    learn(clock, 0, 100, 100, 7_777)
    assert clock.offset(205, 0) == (7_777, 100)


@given(st.lists(st.tuples(st.integers(1, SECOND), st.integers(1, SECOND)), min_size=1, max_size=20))
def test_the_offset_is_never_further_off_than_the_error_says(ways: list[tuple[int, int]]) -> None:
    clock, offset, now = Clock(), 123_456_789_000, 0
    for there, back in ways:
        learn(clock, now, there, back, offset)
        now += there + back + SECOND
        found, error = clock.offset(now, 0)
        assert error is not None
        assert abs(found - offset) <= error


def test_the_exchange_with_the_least_delay_of_the_last_eight_counts() -> None:
    clock = Clock()
    learn(clock, 0, 10, 10, 500)
    for index in range(1, 8):
        learn(clock, index * SECOND, 1_000_000, 2_000_000, 500)
    found, error = clock.offset(8 * SECOND, 0)
    assert found == 500
    assert error is not None
    assert error < 1_000_000
    learn(clock, 8 * SECOND, 1_000_000, 2_000_000, 500)
    _, later = clock.offset(9 * SECOND, 0)
    assert later is not None
    assert later > 1_000_000


def test_the_error_grows_by_15_ppm_of_the_age() -> None:
    clock = Clock()
    learn(clock, 0, 100, 100, 0)
    assert clock.offset(205 + 1_000 * SECOND, 0) == (0, 100 + 15 * SECOND // 1_000)


def test_another_clock_or_a_sleep_of_this_machine_starts_anew() -> None:
    clock = Clock()
    learn(clock, 0, 1, 1, 500)
    learn(clock, 100, 1_000, 1_000, 90_000, name="b")
    assert clock.offset(3_000, 0)[0] == 90_000
    learn(clock, 3_000, 1_000, 1_000, 60 * SECOND, name="b")
    assert clock.offset(6_000, 0)[0] == 60 * SECOND


def test_an_exchange_that_cannot_be_is_passed_over() -> None:
    clock = Clock()
    clock.learn("a", 100, 0, 5_000, 200)
    clock.learn("a", 200, 0, 0, 100)
    clock.learn("", 0, 5, 6, 20)
    assert clock.offset(0, 9) == (9, None)
