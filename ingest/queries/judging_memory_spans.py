"""When each worker's memory is quiet: its part in each window, and the time between its last work and the next."""

import itertools

import numpy as np

from ingest.detection.facts import Flags, History, Ints, Kind, Spans, Window
from ingest.detection.memory import Span

_RECEIVES = "sync"  # of a coordinator, which applies nothing
_AFTER_NS = 10**9  # of the newest window it is not known yet when the next work begins


def memory_spans(history: History) -> dict[int, tuple[Span, ...]]:
    """For each lane its parts in the windows, in its newest attempt; oldest first.

    A window of several rounds is quiet as a whole: no reading falls into the pause of a single step, and the lowest of
    the window says what stays.
    """
    spans = history.spans
    order = np.argsort(spans.lane, kind="stable")
    lanes, first = np.unique(spans.lane[order], return_index=True)
    window = _window_of(spans, history.windows)
    received = spans.name == (spans.names.index(_RECEIVES) if _RECEIVES in spans.names else -2)
    received |= spans.kind == Kind.APPLY
    found = {}
    for lane, every in zip(lanes.tolist(), np.split(order, first[1:]), strict=False):
        rows = every[(spans.attempt[every] == spans.attempt[every].max()) & (window[every] >= 0)]
        if len(rows):
            found[lane] = _of_worker(history, rows, window[rows], received)
    return found


def _window_of(spans: Spans, windows: tuple[Window, ...]) -> Ints:
    """The place of each span's window, -1 where it is in none."""
    place = {index: at for at, one in enumerate(windows) for index in one.rounds}
    indexes, inverse = np.unique(spans.round, return_inverse=True)
    return np.array([place.get(index, -1) for index in indexes.tolist()], np.int64)[inverse]


def _of_worker(history: History, rows: Ints, window: Ints, received: Flags) -> tuple[Span, ...]:
    spans = history.spans
    own = [(place, rows[window == place]) for place in np.unique(window).tolist()]
    begins = [_work_begins(spans, each) for _, each in own[1:]]
    return tuple(
        _span(spans, history.windows[place], each, received[each], following)
        for (place, each), following in itertools.zip_longest(own, begins)
    )


def _work_begins(spans: Spans, rows: Ints) -> int:
    """When it begins to work in a window: what waits before that holds no more than the time between."""
    busy = rows[spans.kind[rows] != Kind.WAIT]
    return int(spans.begin_ns[busy if len(busy) else rows].min())


def _span(spans: Spans, window: Window, rows: Ints, received: Flags, following: int | None) -> Span:
    begin, end = int(spans.begin_ns[rows].min()), int(spans.end_ns[rows].max())
    quiet_from, quiet_to = begin, end
    if len(window.rounds) == 1:
        busy = rows[received] if received.any() else rows[spans.kind[rows] != Kind.WAIT]
        quiet_from = int(spans.end_ns[busy if len(busy) else rows].max())
        quiet_to = max(window.end_ns, end) + _AFTER_NS if following is None else following
    return Span(
        index=window.rounds[-1], attempt=int(spans.attempt[rows[0]]), begin_ns=begin,
        end_ns=end if following is None else max(end, min(window.end_ns, following)),
        quiet_from_ns=quiet_from, quiet_to_ns=quiet_to,
    )  # fmt: skip
