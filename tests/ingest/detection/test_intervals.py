"""Interval algebra and leaf time against a reference that looks at every instant by itself."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ingest.detection import leaf
from ingest.detection.columns import column_medians, group_medians, median, newest, numbered
from ingest.detection.facts import Kind, Spans
from ingest.detection.intervals import Intervals, lengths, union
from roundwatch.wire import KINDS

whole = st.integers(0, 30)
interval = st.tuples(st.integers(0, 3), whole, whole)


def intervals(parts: list[tuple[int, int, int]]) -> Intervals:
    columns = np.array(parts, np.int64).reshape(-1, 3)
    return Intervals(columns[:, 0], columns[:, 1], columns[:, 2])


def instants(parts: Intervals) -> set[tuple[int, int]]:
    rows = zip(parts.group.tolist(), parts.begin.tolist(), parts.end.tolist(), strict=True)
    return {(group, instant) for group, begin, end in rows for instant in range(begin, end)}


@given(st.lists(interval, max_size=20))
def test_a_union_covers_the_same_instants_with_disjoint_maximal_intervals(parts: list[tuple[int, int, int]]) -> None:
    joined = union(intervals(parts))

    assert instants(joined) == instants(intervals(parts))
    assert (joined.end > joined.begin).all()
    same = joined.group[1:] == joined.group[:-1]
    assert (joined.begin[1:][same] > joined.end[:-1][same]).all()


def test_clocks_that_are_years_apart_do_not_overflow() -> None:
    far = 10**18
    joined = union(intervals([(at, begin, end) for at in range(20) for begin, end in ((0, far - at), (1, 2), (5, 6))]))

    assert list(zip(joined.group, joined.begin, joined.end, strict=True)) == [(at, 0, far - at) for at in range(20)]


@given(st.lists(interval, max_size=20), st.sets(st.integers(0, 5), min_size=1))
def test_lengths_count_each_instant_of_a_group_once(parts: list[tuple[int, int, int]], groups: set[int]) -> None:
    asked = np.array(sorted(groups), np.int64)
    covered = instants(intervals(parts))

    assert lengths(intervals(parts), asked).tolist() == [sum(g == group for g, _ in covered) for group in asked]


@given(st.lists(interval, max_size=20), whole, whole)
def test_clipping_leaves_the_instants_within(parts: list[tuple[int, int, int]], least: int, most: int) -> None:
    inside = {(group, at) for group, at in instants(intervals(parts)) if least <= at < most}

    assert instants(union(intervals(parts).clipped(least, most))) == inside


@st.composite
def span_lists(draw: st.DrawFn) -> Spans:
    """Spans of two threads, each with any parent, nested properly or not."""
    count = draw(st.integers(0, 12))
    begin = draw(st.lists(whole, min_size=count, max_size=count))
    length = draw(st.lists(st.integers(0, 15), min_size=count, max_size=count))
    parent = draw(st.lists(st.integers(-1, max(count, 1)), min_size=count, max_size=count))
    thread = draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    kind = draw(st.lists(st.sampled_from(list(Kind)), min_size=count, max_size=count))
    zeros = np.zeros(count, np.int64)
    return Spans(
        lane=zeros, attempt=zeros, start=np.arange(count), parent=np.array(parent, np.int64),
        thread=np.array(thread, np.int64), name=zeros, kind=np.array(kind, np.int64), round=zeros,
        begin_ns=np.array(begin, np.int64), end_ns=np.array(begin, np.int64) + np.array(length, np.int64),
        error_ns=zeros, after=zeros - 1, items=np.full(count, np.nan), nbytes=np.full(count, np.nan), names=("train",),
    )  # fmt: skip


@given(span_lists())
def test_leaf_time_is_a_span_without_its_children_on_the_thread(spans: Spans) -> None:
    around = leaf.parents(spans)
    expected = set()
    for span in range(len(spans)):
        own = set(range(spans.begin_ns[span], spans.end_ns[span]))
        for child in np.flatnonzero(around == span).tolist():
            own -= set(range(spans.begin_ns[child], spans.end_ns[child]))
        expected |= {(span, instant) for instant in own}

    parts = leaf.pieces(spans, around)

    assert instants(parts) == expected
    assert int((parts.end - parts.begin).sum()) == len(expected)


@given(span_lists())
def test_a_parent_is_an_earlier_span_of_the_same_thread(spans: Spans) -> None:
    around = leaf.parents(spans)

    for span, parent in enumerate(around.tolist()):
        declared = int(spans.parent[span])
        fits = 0 <= declared < span and spans.thread[declared] == spans.thread[span]
        assert parent == (declared if fits else -1)


@given(span_lists())
def test_whatever_is_under_persist_is_persist(spans: Spans) -> None:
    around = leaf.parents(spans)

    for span, kind in enumerate(leaf.kinds(spans, around).tolist()):
        above, at = False, span
        while (at := int(around[at])) >= 0:
            above |= spans.kind[at] == Kind.PERSIST
        assert kind == (Kind.PERSIST if above else spans.kind[span])


def test_kinds_are_numbered_as_on_the_wire() -> None:
    assert tuple(kind.name.lower() for kind in Kind) == KINDS


floats = st.floats(-1e6, 1e6) | st.just(np.nan)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-1e6, 1e6)), max_size=30))
def test_group_medians_are_the_medians_of_the_groups(rows: list[tuple[int, float]]) -> None:
    number = np.array([group for group, _ in rows], np.int64)
    values = np.array([value for _, value in rows], float)

    for group, found in enumerate(group_medians(number, values, 5).tolist()):
        own = values[number == group]
        assert found == np.median(own) if len(own) else np.isnan(found)


@given(st.lists(st.lists(floats, min_size=3, max_size=3), max_size=8))
def test_column_medians_leave_out_what_is_absent(rows: list[list[float]]) -> None:
    matrix = np.array(rows, float).reshape(-1, 3)

    for column, found in enumerate(column_medians(matrix).tolist()):
        own = matrix[:, column][np.isfinite(matrix[:, column])]
        assert found == np.median(own) if len(own) else np.isnan(found)
        assert median(matrix[:, column]) == found or not len(own)


def test_newest_keeps_the_last_values_of_each_column() -> None:
    matrix = np.array([[1, 1], [2, np.nan], [3, 3], [np.nan, 4]])

    assert np.array_equal(newest(matrix, 2), [[np.nan, np.nan], [2, np.nan], [3, 3], [np.nan, 4]], equal_nan=True)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=20))
def test_numbered_gives_equal_rows_one_number(rows: list[tuple[int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 2)
    distinct = sorted(set(rows))

    number, one = numbered(columns[:, 0], columns[:, 1])

    assert [distinct[at] for at in number.tolist()] == rows
    assert [rows[at] for at in one.tolist()] == distinct
