"""The picture that a browser begins with, and older stretches of it: frames out of one snapshot of the database."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from dashboard.live.entries import newest
from dashboard.live.frames import stamped
from dashboard.live.numbers import to_text
from dashboard.live.steady import clock
from ingest.feed import events, messages
from ingest.feed.frames import Cursor, FrameType, encode_json
from ingest.models import Run
from ingest.queries import live, live_events, live_spans, live_state
from ingest.queries.live import Window
from ingest.queries.one_snapshot import one_snapshot

# A page begins with about as many as it has pixels for: reading more rows is what it would wait for longest. It asks
# for older ones when it has drawn these.
FIRST_SPANS = 50_000
MOST_SPANS = 200_000
_MOST_SAMPLES = 200_000
_MOST_GAPS = 10_000
_MOST_EVENTS = 10_000
_MOST_ROUNDS = 20_000
_MOST_FINDINGS = 2_000
_NEWEST_NS = 21 * 60 * 10**9  # the page counts 20 minutes from the newest that it sees
_FAR_NS = (1 << 62) - 1


@dataclass(frozen=True, slots=True)
class Ask:
    """Which part of a run to show: a window of Unix ns, its last rounds, or all of it; of its spans the newest `spans`.

    Samples reach back 20 minutes from when the run was last heard of, unless a window or rounds are asked for.
    """

    from_ns: int | None = None
    to_ns: int | None = None
    rounds: int | None = None
    spans: int = FIRST_SPANS


def snapshot(run_id: UUID, ask: Ask) -> list[bytes]:
    """Everything that a live view of the run begins with, as chunks of frames.

    The feed's cursor is read before the database: whatever is published later, the viewer gets after that cursor, and
    what was stored before is in here; some of it comes twice, and none is lost. Raises Run.DoesNotExist.
    """
    epoch, last = newest(run_id)
    cursor_of_feed = Cursor(epoch, 0, last)
    with one_snapshot() as cursor:
        run = Run.objects.get(pk=run_id)
        payloads = list(_payloads(cursor, run, ask))
    return [stamped(payload, cursor_of_feed) for payload in payloads if payload]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Frames of a part of a run, and where they begin (Unix ns) if they do not reach back to what was asked for."""

    chunks: list[bytes]
    from_ns: int | None


def history(run_id: UUID, window: Window, most: int = MOST_SPANS) -> Stretch:
    """The newest `most` spans of a stretch of the run, with the events and samples since, and all gaps.

    Raises Run.DoesNotExist.
    """
    with one_snapshot() as cursor:
        run = Run.objects.get(pk=run_id)
        spans = live_spans.spans(cursor, run, window, most)
        reached = int(spans.begin_ns[0]) if 0 < most <= spans.begin_ns.size else None
        if reached is not None:
            window = Window(max(reached, window.from_ns), window.to_ns)
        payloads = [messages.spans(spans), _events(cursor, run, window), _gaps(cursor, run)]
        payloads.append(_samples(cursor, run, window))
    return Stretch([payload for payload in payloads if payload], reached)


def _payloads(cursor: CursorWrapper, run: Run, ask: Ask) -> Iterator[bytes]:
    window = _window(cursor, run, ask)
    spans = live_spans.spans(cursor, run, window or Window(0, _FAR_NS), ask.spans)
    older_from_ns = live_spans.first_begin_ns(cursor, run) if spans.begin_ns.size >= ask.spans else None
    about = {"base": to_text(live_state.stored_numbers(cursor, run)), "older_from_ns": older_from_ns}
    yield encode_json(FrameType.META, live_state.meta_entries(cursor, run) | about)
    yield live_state.steps(run, live_state.newest_rounds(run, _MOST_ROUNDS))
    yield messages.spans(spans)
    yield _events(cursor, run, window or Window(0, _FAR_NS))
    yield _gaps(cursor, run)
    yield messages.beats([attempt.beat for attempt in live_state.attempts(cursor, run)])
    yield messages.findings(live_state.newest_findings(run, _MOST_FINDINGS))
    heard_ns = min(messages.unix_ns(run.heard_at) or 0, clock.now_ns())
    yield _samples(cursor, run, window or Window(heard_ns - _NEWEST_NS, _FAR_NS))


def _gaps(cursor: CursorWrapper, run: Run) -> bytes:
    return messages.gaps(live.gaps(cursor, run, _MOST_GAPS))


def _events(cursor: CursorWrapper, run: Run, window: Window) -> bytes:
    return events.events(live_events.events(cursor, run, window, _MOST_EVENTS))


def _samples(cursor: CursorWrapper, run: Run, window: Window) -> bytes:
    samples = live.samples(cursor, run, window, _MOST_SAMPLES)
    return messages.samples(samples["series"], samples["time_ns"], samples["value"])


def _window(cursor: CursorWrapper, run: Run, ask: Ask) -> Window | None:
    if ask.rounds is not None:
        return live.rounds_window(cursor, run, ask.rounds, _FAR_NS)
    if ask.from_ns is None and ask.to_ns is None:
        return None
    return Window(ask.from_ns or 0, _FAR_NS if ask.to_ns is None else ask.to_ns)
