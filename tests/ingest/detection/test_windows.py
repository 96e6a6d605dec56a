"""Which rounds are judged together, and who still warms up in them."""

import pytest

from ingest.detection.verdicts import fingerprint
from ingest.detection.windows import Past, first_of, size_of, windows


def past(count: int, wall_s: float, *, attempts: dict[int, int] | None = None, first: int = 0) -> list[Past]:
    """Rounds of `wall_s` seconds; `attempts` maps an attempt to the round in which it began, its lane is its own."""
    begun = attempts or {0: first}
    wall = int(wall_s * 1e9)
    return [
        Past(
            index=index,
            begin_ns=index * wall,
            end_ns=(index + 1) * wall,
            begun={attempt: (attempt, index * wall) for attempt, since in begun.items() if since <= index},
        )
        for index in range(first, first + count)
    ]


@pytest.mark.parametrize(
    ("wall_s", "size"),
    [(48.0, 1), (10.0, 1), (9.9, 2), (5.0, 2), (4.9, 5), (1.0, 10), (0.2, 50), (0.1, 100), (0.03, 500)],
)
def test_the_fewest_rounds_that_fill_ten_seconds_in_round_numbers(wall_s: float, size: int) -> None:
    assert size_of([wall_s, wall_s, wall_s * 9]) == size


def test_without_any_round_a_window_is_one() -> None:
    assert size_of([]) == 1
    assert size_of([0.0]) == 10_000  # rounds without length never make one that goes on forever


def test_windows_stay_where_they_are_however_many_rounds_are_known() -> None:
    early, late = windows(past(20, 2.0), 5, older=False), windows(past(12, 2.0, first=8), 5, older=True)

    assert [window.rounds for window in early][2:] == [(10, 11, 12, 13, 14), (15, 16, 17, 18, 19)]
    assert [window.rounds for window in late] == [(8, 9), *(window.rounds for window in early[2:])]
    assert first_of(13, 5) == 10
    assert early[-1].round_s == pytest.approx(2)
    assert early[-1].end_ns == 40_000_000_000


def test_the_first_long_round_of_each_attempt_is_warm_up() -> None:
    found = windows(past(5, 30.0, attempts={0: 0, 1: 3}), 1, older=False)

    assert [window.cold for window in found] == [{0}, set(), set(), {1}, set()]


def test_of_steps_ten_seconds_and_twenty_of_them_are_warm_up() -> None:
    slow = windows(past(60, 1.0), 10, older=False)
    fast = windows(past(600, 0.1), 100, older=False)

    assert [window.cold for window in slow] == [{0}, {0}, set(), set(), set(), set()]
    assert [window.cold for window in fast] == [{0}, set(), set(), set(), set(), set()]


def test_of_rounds_that_share_a_window_but_are_no_steps_only_the_first_is_warm_up() -> None:
    found = windows(past(8, 9.0, attempts={0: 0, 1: 5}), 2, older=False)

    assert [window.cold for window in found] == [{0}, set(), {1}, set()]


def test_who_was_there_before_the_known_rounds_is_warm() -> None:
    found = windows(past(3, 30.0, first=7), 1, older=True)

    assert [window.cold for window in found] == [set(), set(), set()]


def test_a_fingerprint_tells_phases_and_rounds_apart_however_they_are_named() -> None:
    long = "x" * 128
    every = {
        fingerprint("straggler", since=since, phase=phase)
        for since in (None, 3, 31)
        for phase in ("encode", "encode:3", "3:encode", long, long[:-1] + "y")
    }

    assert len(every) == 15
    assert max(len(one) for one in every) <= 128
