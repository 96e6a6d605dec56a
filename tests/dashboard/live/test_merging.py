"""Merged entries say what the entries said: everything that happened, the latest of everything that changes."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.live.frames import Part, encode, merge, parse, stamped, weight
from ingest.feed import messages
from ingest.feed.frames import Cursor, FrameType, decode, encode_columns, encode_json
from ingest.feed.messages import Beat

BASE = 1_764_504_000 * 10**9
CURSOR = Cursor(9, 8, 7)


def spans(*starts: int) -> bytes:
    column = np.array(starts, np.int64)
    same = np.zeros_like(column)
    return messages.spans(
        messages.Spans(
            begin_ns=BASE + column * 10**6,
            end_ns=BASE + column * 10**6 + 10**9,
            start_number=column,
            parent=same - 1,
            round=same,
            lane=same,
            attempt=same,
            phase=same,
            state=same,
            thread=same,
        )
    )


def beat(attempt: int, number: int, *opens: int, heard: int = 0) -> bytes:
    listed = [
        {"start": start, "begin_ns": BASE, "round": 0, "progress": None, "phase": 0, "thread": 0} for start in opens
    ]
    return messages.beats([Beat(BASE + heard * 10**9, number, None, attempt, attempt, "running", listed)])


def open_now(part: Part) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {attempt: set() for attempt in part[FrameType.HEARTBEAT]["attempt"].tolist()}
    rows = part[FrameType.OPEN_SNAPSHOT]
    for attempt, start in zip(rows["attempt"].tolist(), rows["id"].tolist(), strict=True):
        found[attempt].add(start)
    return found


def merged(*payloads: bytes) -> Part:
    return merge([parse(payload) for payload in payloads])


def test_spans_are_appended_and_keep_their_times() -> None:
    part = merged(spans(1, 2), beat(0, 3), spans(7))
    (_, found), *_ = [frame for frame in decode(encode(part, CURSOR)) if frame[0] is FrameType.SPAN]
    assert found["id"].tolist() == [1, 2, 7]
    assert found["start"].tolist() == [BASE + at * 10**6 for at in (1, 2, 7)]
    assert (found["epoch"], found["first"], found["last"]) == (9, 8, 7)


def test_the_highest_heartbeat_of_each_attempt_decides_what_is_open() -> None:
    part = merged(beat(0, 5, 1, 2), beat(1, 1, 0), beat(0, 9, 2), beat(0, 7, 1, 2, 6))
    assert open_now(part) == {0: {2}, 1: {0}}


def test_of_two_heartbeats_at_one_number_the_later_heard_counts() -> None:
    assert open_now(merged(beat(0, 5, 1, heard=2), beat(0, 5, heard=1))) == {0: {1}}


def test_a_heartbeat_with_nothing_open_closes_what_was() -> None:
    part = merged(beat(0, 5, 1), beat(0, 6))
    assert open_now(part) == {0: set()}
    assert FrameType.OPEN_SNAPSHOT in {kind for kind, _ in decode(encode(part, CURSOR))}


def test_the_last_word_on_a_generation_of_a_round_counts() -> None:
    part = merged(_step(0, 0, 0.1), _step(1, 0, 0.2), _step(0, 1, 0.3), _step(0, 0, 0.4))
    rows = part[FrameType.STEP]
    found = zip(rows["index"].tolist(), rows["generation"].tolist(), rows["coverage"].tolist(), strict=True)
    assert {(index, generation): round(coverage, 3) for index, generation, coverage in found} == {
        (0, 0): 0.4, (1, 0): 0.2, (0, 1): 0.3,
    }  # fmt: skip


def test_names_and_findings_are_merged_by_what_they_are_of() -> None:
    part = merged(
        _meta(run={"id": "r", "state": "running"}, lanes=[{"lane": 0, "state": "running"}, {"lane": 1}], dropped=1),
        encode_json(FrameType.FINDING, [{"id": "a", "state": "open"}, {"id": "b", "state": "open"}]),
        _meta(run={"state": "lost"}, lanes=[{"lane": 0, "state": "lost"}], phases=[{"phase": 3}]),
        encode_json(FrameType.FINDING, [{"id": "a", "state": "resolved"}]),
    )
    assert part[FrameType.META] == {
        "run": {"id": "r", "state": "lost"},
        "lanes": [{"lane": 0, "state": "lost"}, {"lane": 1}],
        "phases": [{"phase": 3}],
        "dropped": 1,
    }
    assert part[FrameType.FINDING] == [{"id": "a", "state": "resolved"}, {"id": "b", "state": "open"}]


def test_a_stamp_changes_the_cursor_alone() -> None:
    payload = spans(1, 2) + beat(0, 3, 2)
    frames = decode(stamped(payload, CURSOR))
    assert {(found["epoch"], found["first"], found["last"]) for _, found in frames} == {(9, 8, 7)}
    assert stamped(stamped(payload, CURSOR), Cursor()) == payload


def test_weight_grows_with_what_is_held() -> None:
    assert weight(parse(b"")) == 0
    assert (
        0
        < weight(parse(spans(1)))
        < weight(parse(spans(1, 2)))
        < weight(merged(spans(1, 2), _meta(lanes=[{"lane": 0}])))
    )


def _step(index: int, generation: int, coverage: float) -> bytes:
    rows = {
        "begin": [BASE], "end": [-1], "index": [index], "coverage": [coverage], "waiting": [0.5],
        "kinds": np.zeros((1, 9)), "generation": [generation], "trainers": [2], "flags": [0],
    }  # fmt: skip
    return encode_columns(FrameType.STEP, rows)


entries = st.lists(
    st.one_of(
        st.builds(lambda starts: spans(*starts), st.lists(st.integers(0, 99), min_size=1, max_size=3)),
        st.builds(lambda a, n, o: beat(a, n, *o), st.integers(0, 3), st.integers(0, 9), st.sets(st.integers(0, 9))),
        st.builds(_step, st.integers(0, 3), st.integers(0, 1), st.floats(0, 1, width=32)),
    ),
    min_size=1,
    max_size=8,
)  # fmt: skip


@settings(deadline=None)
@given(entries, st.data())
def test_merging_in_two_steps_says_the_same_as_in_one(payloads: list[bytes], data: Any) -> None:
    cut = data.draw(st.integers(1, len(payloads)))
    parts = [parse(payload) for payload in payloads]
    in_two = merge([merge(parts[:cut]), *parts[cut:]])
    assert encode(in_two, CURSOR) == encode(merge(parts), CURSOR)


def _meta(**parts: Any) -> bytes:
    return encode_json(FrameType.META, parts)
