"""The picture that a browser begins with, and older stretches of it: frames out of one snapshot of the database."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from dashboard.live.entries import newest
from dashboard.live.frames import stamped
from dashboard.live.numbers import to_text
from ingest.feed import messages
from ingest.feed.frames import Cursor, FrameType, encode_json
from ingest.models import Run
from ingest.queries import live, live_state
from ingest.queries.live import Window
from ingest.queries.one_snapshot import one_snapshot

MOST_SPANS = 200_000
_MOST_SAMPLES = 200_000
_MOST_GAPS = 10_000
_MOST_ROUNDS = 20_000
_MOST_FINDINGS = 2_000
_NEWEST_NS = 20 * 60 * 10**9
_FAR_NS = (1 << 62) - 1


@dataclass(frozen=True, slots=True)
class Ask:
    """Which part of a run to show in full: a window of Unix ns, its last rounds, or (neither) its last 20 minutes."""

    from_ns: int | None = None
    to_ns: int | None = None
    rounds: int | None = None


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


def history(run_id: UUID, window: Window) -> list[bytes]:
    """Spans, gaps and samples of a stretch of the run, as chunks of frames. Raises Run.DoesNotExist."""
    with one_snapshot() as cursor:
        run = Run.objects.get(pk=run_id)
        return [payload for payload in _stretch(cursor, run, window) if payload]


def _payloads(cursor: CursorWrapper, run: Run, ask: Ask) -> Iterator[bytes]:
    base = to_text(live_state.stored_numbers(cursor, run))
    yield encode_json(FrameType.META, live_state.meta_entries(cursor, run) | {"base": base})
    yield live_state.steps(run, live_state.newest_rounds(run, _MOST_ROUNDS))
    yield from _stretch(cursor, run, _window(cursor, run, ask))
    yield messages.beats([attempt.beat for attempt in live_state.attempts(cursor, run)])
    yield messages.findings(live_state.newest_findings(run, _MOST_FINDINGS))


def _stretch(cursor: CursorWrapper, run: Run, window: Window) -> Iterable[bytes]:
    yield messages.spans(live.spans(cursor, run, window, MOST_SPANS))
    yield messages.gaps(live.gaps(cursor, run, _MOST_GAPS))
    samples = live.samples(cursor, run, window, _MOST_SAMPLES)
    yield messages.samples(samples["series"], samples["time_ns"], samples["value"])


def _window(cursor: CursorWrapper, run: Run, ask: Ask) -> Window:
    if ask.rounds is not None:
        return live.rounds_window(cursor, run, ask.rounds, _FAR_NS)
    to_ns = _FAR_NS if ask.to_ns is None else ask.to_ns
    if ask.from_ns is not None:
        return Window(ask.from_ns, to_ns)
    end = messages.unix_ns(run.ended_at or live_state.database_now(cursor)) or 0
    return Window(min(end, to_ns) - _NEWEST_NS, to_ns)
