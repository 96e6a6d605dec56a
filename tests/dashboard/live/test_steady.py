"""The clock that pictures reach back by: it follows where it is set back, and only late where it is set ahead."""

import time

import pytest

from dashboard.live.steady import SteadyClock

SECOND = 10**9
HOUR = 3600 * SECOND


class Times:
    """The clocks of a machine that stands still until they are moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_ns, self.monotonic_ns = 1_700_000_000 * SECOND, 5 * SECOND
        monkeypatch.setattr(time, "time_ns", lambda: self.wall_ns)
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.monotonic_ns)

    def passes(self, ns: int) -> None:
        self.wall_ns += ns
        self.monotonic_ns += ns


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    return Times(monkeypatch)


def test_it_goes_as_the_wall_clock_does(times: Times) -> None:
    clock = SteadyClock()
    times.passes(7 * SECOND)
    assert clock.now_ns() == times.wall_ns


def test_an_hour_ahead_is_not_followed_and_right_again_is(times: Times) -> None:
    clock = SteadyClock()
    true = times.wall_ns
    times.wall_ns += HOUR
    assert clock.now_ns() == true
    times.passes(60 * SECOND)
    assert clock.now_ns() == true + 60 * SECOND
    times.wall_ns -= HOUR
    assert clock.now_ns() == times.wall_ns == true + 60 * SECOND


def test_an_hour_ahead_that_lasts_is_believed(times: Times) -> None:
    clock = SteadyClock()
    times.wall_ns += HOUR
    clock.now_ns()
    times.passes(31 * 60 * SECOND)
    assert clock.now_ns() == times.wall_ns


def test_set_back_it_is_followed_at_once_and_put_right_after_a_while(times: Times) -> None:
    clock = SteadyClock()
    times.wall_ns -= HOUR
    assert clock.now_ns() == times.wall_ns
    times.wall_ns += HOUR
    assert clock.now_ns() == times.wall_ns - HOUR
    times.passes(31 * 60 * SECOND)
    assert clock.now_ns() == times.wall_ns
