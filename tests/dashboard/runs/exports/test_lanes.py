"""In each lane of a trace, what lies within a bar is its child and nothing else."""

import json
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.runs.exports.lanes import Lanes


@dataclass(frozen=True)
class Bar:
    """A phase by its place in the list; `parent` is a place before it, None for none."""

    begin: int
    end: int
    parent: int | None


@st.composite
def trees(draw: st.DrawFn) -> list[Bar]:
    """Phases by begin, each after its parent, within or beyond it, beside or across its siblings."""
    begins = sorted(draw(st.lists(st.integers(0, 30), min_size=1, max_size=25)))
    made: list[Bar] = []
    for begin in begins:
        parent = draw(st.one_of(st.none(), st.integers(0, len(made) - 1))) if made else None
        made.append(Bar(begin, begin + draw(st.integers(0, 20)), parent))
    return made


def placed(bars: list[Bar], *, put_aside: bool = False) -> list[int]:
    """Each bar's lane; `put_aside` writes everything down after each bar, and goes on from that."""
    lanes, found = Lanes(), []
    for place, bar in enumerate(bars):
        if put_aside:
            lanes = Lanes(json.loads(json.dumps(lanes.told())))
        found.append(lanes.place((1, place), None if bar.parent is None else (1, bar.parent), bar.begin, bar.end))
    return found


def lies_in(inner: Bar, outer: Bar) -> bool:
    return outer.begin <= inner.begin and inner.end <= outer.end


@settings(max_examples=300, deadline=None)
@given(trees())
def test_bars_of_a_lane_lie_beside_each_other_or_in_their_parents(bars: list[Bar]) -> None:
    lanes = placed(bars)
    for place, bar in enumerate(bars):
        for before, other in enumerate(bars[:place]):
            if lanes[before] != lanes[place] or other.end <= bar.begin:
                continue
            # Something is still going on in the lane: the bar lies in it, and it is one of those around the bar.
            around, outer = bar.parent, set()
            while around is not None:
                outer.add(around)
                around = bars[around].parent
            assert lies_in(bar, other)
            assert before in outer


@settings(max_examples=300, deadline=None)
@given(trees())
def test_a_bar_that_lies_in_its_parent_beside_its_siblings_stands_in_its_lane(bars: list[Bar]) -> None:
    lanes = placed(bars)
    for place, bar in enumerate(bars):
        if bar.parent is None or not lies_in(bar, bars[bar.parent]):
            continue
        lane = lanes[bar.parent]
        others = [
            other
            for before, other in enumerate(bars[:place])
            if before > bar.parent and lanes[before] == lane and other.end > bar.begin
        ]
        if not others and bars[bar.parent].end > bar.begin:
            assert lanes[place] == lane


@given(trees())
def test_lanes_that_are_put_aside_and_gone_on_with_are_the_same(bars: list[Bar]) -> None:
    assert placed(bars, put_aside=True) == placed(bars)


def test_an_empty_child_at_its_parents_very_end_stands_in_its_lane() -> None:
    assert placed([Bar(0, 10, None), Bar(10, 10, 0), Bar(10, 20, None)]) == [0, 0, 0]


def test_a_sibling_that_crosses_another_has_a_lane_of_its_own_and_the_next_goes_back() -> None:
    assert placed([Bar(0, 100, None), Bar(0, 40, 0), Bar(30, 60, 0), Bar(60, 90, 0)]) == [0, 0, 1, 0]
