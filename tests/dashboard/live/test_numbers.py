"""Sets of stream numbers do what sets do."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.live import numbers

sets = st.sets(st.integers(0, 60))


def ranges(of: set[int]) -> numbers.Ranges:
    return numbers.normal((number, number) for number in of)


def plain(of: numbers.Ranges) -> set[int]:
    found = [number for first, last in of for number in range(first, last + 1)]
    assert len(found) == len(set(found))
    assert of == sorted(of)
    assert all(before[1] + 1 < after[0] for before, after in pairwise(of))
    return set(found)


@given(sets, sets)
def test_ranges_behave_as_the_sets_they_stand_for(one: set[int], other: set[int]) -> None:
    assert plain(numbers.union(ranges(one), ranges(other))) == one | other
    assert plain(numbers.minus(ranges(one), ranges(other))) == one - other
    assert plain(numbers.meet(ranges(one), ranges(other))) == one & other


@given(st.dictionaries(st.integers(0, 9), sets), st.dictionaries(st.integers(0, 9), sets))
def test_streams_are_kept_apart(one: dict[int, set[int]], other: dict[int, set[int]]) -> None:
    ours = {stream: ranges(of) for stream, of in one.items()}
    theirs = {stream: ranges(of) for stream, of in other.items()}
    both = {stream: plain(of) for stream, of in numbers.each_union(ours, theirs).items()}
    assert both == {stream: one.get(stream, set()) | other.get(stream, set()) for stream in one | other}
    left = {stream: plain(of) for stream, of in numbers.each_minus(ours, theirs).items()}
    assert left == {
        stream: of - other.get(stream, set()) for stream, of in one.items() if of - other.get(stream, set())
    }
    assert numbers.count(ours) == sum(map(len, one.values()))


@given(st.dictionaries(st.integers(1, 1 << 62), sets.filter(bool)))
def test_a_base_survives_its_text(of: dict[int, set[int]]) -> None:
    base = {stream: ranges(some) for stream, some in of.items()} | {0: []}
    text_of_all = numbers.to_text(base)
    del base[0]
    assert text_of_all == numbers.to_text(base)
    assert numbers.from_text(text_of_all) == base


def test_a_base_that_is_too_long_for_a_hello_is_left_out() -> None:
    scattered = {stream: [(at * 3, at * 3) for at in range(stream % 7, 900)] for stream in range(900)}
    text = numbers.to_text(scattered)
    assert text == "" or len(text) <= 256 * 1024


@pytest.mark.parametrize("text", ["", "x", "AAAA", "eJwDAAAAAAE=", "=" * 300_000])
def test_a_text_that_is_no_base_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - base64, zlib and json say it each in their way
        numbers.from_text(text)


def test_what_is_too_long_to_be_taken_back_is_never_given_away() -> None:
    """Ranges that compress well become short text of what is refused as a bomb."""
    alike = [(number, number) for number in range(0, 4000, 10)]
    assert numbers.to_text(dict.fromkeys(range(1000), alike)) == ""
