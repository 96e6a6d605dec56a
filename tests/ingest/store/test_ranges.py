"""Sets of stream numbers, against plain Python sets."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.models import multiranges
from ingest.store import ranges

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=12)


def built(steps: list[tuple[int, int]]) -> tuple[list[ranges.Range], set[int]]:
    """The set after adding each (first, length), both ways."""
    pairs: list[ranges.Range] = []
    plain: set[int] = set()
    for first, length in steps:
        ranges.add(pairs, first, first + length)
        plain |= set(range(first, first + length))
    return pairs, plain


def members(pairs: list[ranges.Range]) -> set[int]:
    """All numbers of the ranges."""
    return {number for first, end in pairs for number in range(first, end)}


@given(spans)
def test_adding_keeps_exactly_the_numbers_in_sorted_ranges_that_do_not_touch(steps: list[tuple[int, int]]) -> None:
    pairs, plain = built(steps)
    assert members(pairs) == plain
    assert all(end < first for (_, end), (first, _) in itertools.pairwise(pairs))


@given(spans, st.integers(0, 70), st.integers(0, 20))
def test_what_is_missing_and_what_is_common_make_up_the_range(
    steps: list[tuple[int, int]], first: int, length: int
) -> None:
    pairs, plain = built(steps)
    wanted = set(range(first, first + length))
    assert members(ranges.missing(pairs, first, first + length)) == wanted - plain
    assert members(ranges.common(pairs, first, first + length)) == wanted & plain


@given(spans, st.integers(1, 5))
def test_holes_are_those_below_the_highest_number(steps: list[tuple[int, int]], most: int) -> None:
    pairs, plain = built(steps)
    holes = ranges.holes(pairs, 1000)
    below = set(range(max(plain, default=-1) + 1))
    assert {number for first, last in holes for number in range(first, last + 1)} == below - plain
    assert ranges.holes(pairs, most) == holes[:most]


@given(spans)
def test_postgres_text_goes_both_ways(steps: list[tuple[int, int]]) -> None:
    pairs, _ = built(steps)
    assert multiranges.parse(multiranges.render(pairs)) == pairs


@given(spans, st.lists(st.integers(-5, 90), max_size=20))
def test_membership_of_many_numbers_at_once(steps: list[tuple[int, int]], asked: list[int]) -> None:
    pairs, plain = built(steps)
    found = ranges.within(np.array(asked, np.int64), pairs)
    assert found.tolist() == [number in plain for number in asked]
