"""What detection needs of rounds that go on: open and ended phases, who is heard, and what the rounds before say."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Max

from ingest.detection.facts import Kind, Spans, Worker
from ingest.detection.slow_phase import Live, Open, Presence, Seen
from ingest.detection.wording import Words
from ingest.feed.messages import unix_ns
from ingest.models import Round, Run
from ingest.queries import run_words
from ingest.queries.judging_spans import begun_in, parts_of, spans_of, workers_of
from ingest.queries.rounds_before import RoundsBefore

_MOST_ROUNDS = 8  # of one run that are looked at together
_MOST_READINGS = 100_000
_LONG_NS = 60 * 10**9  # without the end of a phase in these rounds: then others are looked for

# Of each worker the newest life, unless that has ended.
_OPENS = """
SELECT s.index, w.index, s.opens, s.opens_at_ns, coalesce(s.error_ns, -1)
FROM ingest_stream s JOIN ingest_worker w ON w.id = s.worker_id AND w.attempt = s.attempt
WHERE s.run_id = %s AND s.ended_at IS NULL AND NOT s.deleted ORDER BY s.index
"""
_SEEN = """
SELECT w.index, w.state, w.state_reason, w.last_seen, s.ended_at IS NOT NULL
FROM ingest_worker w LEFT JOIN ingest_stream s ON s.worker_id = w.id AND s.attempt = w.attempt WHERE w.run_id = %s
"""
# In their own words: an end that follows from phases is only the last that is known.
_DONE = """
SELECT w.index FROM ingest_workerround part JOIN ingest_worker w ON w.id = part.worker_id
WHERE part.round_id = %s AND part.end_ns IS NOT NULL AND NOT part.derived
"""
_NEWEST_END = """
SELECT max(end_ns) FROM (SELECT end_ns FROM ingest_phase WHERE run_id = %s ORDER BY begin_ns DESC LIMIT 2000) AS newest
"""
_ENDED = {"finished", "failed", "killed"}

Readings = tuple[tuple[int, float], ...]


@dataclass(slots=True)
class Memory:
    """What one watcher need not read or compute twice; lost with it, it is made again."""

    before: RoundsBefore = field(default_factory=RoundsBefore)
    _progress: dict[tuple[UUID, int, int], Readings] = field(default_factory=dict)

    def readings(
        self, run_id: UUID, attempt: int, phase: dict[str, Any], seen_ns: int
    ) -> tuple[tuple[int, float], ...]:
        """The last two readings of an open phase's progress: (time, share done)."""
        share = phase.get("progress")
        if share is None:
            return ()
        if len(self._progress) >= _MOST_READINGS:
            self._progress.clear()
        key = (run_id, attempt, phase["start"])
        known = self._progress.get(key, ())
        if not known or known[-1][1] < share:
            known = self._progress[key] = (*known, (seen_ns, share))[-2:]
        return known


def running() -> list[UUID]:
    """The runs that go on."""
    return list(Run.objects.filter(ended_at__isnull=True).values_list("pk", flat=True))


def prepare(run_id: UUID, memory: Memory) -> None:
    """Compute what the rounds before say, which may take long, so that `look` finds it remembered."""
    for row in _rounds(run_id, _opens(run_id, memory)):
        memory.before.of(row)


def look(run_id: UUID, memory: Memory, since_ns: int = 0) -> list[Live]:
    """Each round of the run that goes on, the newest last; empty where the run has ended or has no round.

    Whoever looks has listened since `since_ns` (Unix): nobody is silent for longer than that. Open phases are read
    before those that have ended: one that ends meanwhile has ended.
    """
    run = Run.objects.filter(pk=run_id, ended_at__isnull=True).first()
    if run is None:
        return []
    opens = _opens(run_id, memory)
    rows = _rounds(run_id, opens)
    with connection.cursor() as cursor:
        workers, seen = workers_of(cursor, run_id), _seen(cursor, run_id, since_ns)
        given = _Given(run, opens, workers, seen, memory, time.time_ns(), run_words.of_run(run_id))
        told = [_told(cursor, row, given.workers) for row in rows]
        ends = [int(each.spans.end_ns.max()) for each in told if len(each.spans)]
        last_end = _last_end(cursor, given, max(ends, default=0))
    return [_live(given, each, last_end) for each in told]


@dataclass(frozen=True, slots=True)
class _Given:
    """What all rounds of a run have in common."""

    run: Run
    opens: Sequence[Open]
    workers: tuple[Worker, ...]
    seen: dict[int, Seen]
    memory: Memory
    now_ns: int
    words: Words


def _opens(run_id: UUID, memory: Memory) -> list[Open]:
    with connection.cursor() as cursor:
        cursor.execute(_OPENS, [run_id])
        rows = cursor.fetchall()
    return [
        Open(
            lane=lane, attempt=attempt, start=phase["start"], name=phase["name"], kind=Kind(phase["kind"]),
            round=phase["round"], begin_ns=phase["begin_ns"], seen_ns=seen_ns, parent=phase["parent"],
            thread=phase["thread"], error_ns=error_ns,
            progress=memory.readings(run_id, attempt, phase, seen_ns),
        )
        for attempt, lane, opens, seen_ns, error_ns in rows
        for phase in msgspec.json.decode(opens)
    ]  # fmt: skip


def _rounds(run_id: UUID, opens: Sequence[Open]) -> list[Round]:
    """The rounds that have open phases, and the newest, in their newest generation; the oldest of very many."""
    newest = Round.objects.filter(run_id=run_id).aggregate(newest=Max("index"))["newest"]
    if newest is None:
        return []
    indexes = [*sorted({one.round for one in opens if 0 <= one.round < newest})[: _MOST_ROUNDS - 1], newest]
    rows = Round.objects.filter(run_id=run_id, index__in=indexes).order_by("generation")
    found = {row.index: row for row in rows}
    return [found[index] for index in indexes if index in found]


def _seen(cursor: CursorWrapper, run_id: UUID, since_ns: int) -> dict[int, Seen]:
    cursor.execute(_SEEN, [run_id])
    return {
        lane: Seen(
            heard_ns=max(unix_ns(last_seen) or 0, since_ns),
            presence=_presence(state, over=over),
            reason=reason if over else "",
        )
        for lane, state, reason, last_seen, over in cursor.fetchall()
    }


def _presence(state: str, *, over: bool) -> Presence:
    """A worker that is lost for its silence alone is known by that silence."""
    if state in _ENDED:
        return Presence.ENDED
    return Presence.GONE if state == "lost" and over else Presence.RUNNING


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """What the workers told of one round."""

    row: Round
    spans: Spans
    begun: dict[int, tuple[int, int]]
    done: frozenset[int]


def _told(cursor: CursorWrapper, row: Round, workers: Sequence[Worker]) -> _Told:
    parts = parts_of(cursor, [row.pk])
    cursor.execute(_DONE, [row.pk])
    # In a round that is over nobody is awaited any more.
    done = (worker.lane for worker in workers) if row.closed else (lane for (lane,) in cursor.fetchall())
    spans = spans_of(cursor, row.run_id, parts, {row.pk: row.index})
    return _Told(row, spans, begun_in(parts)[row.pk], frozenset(done))


def _last_end(cursor: CursorWrapper, given: _Given, end_ns: int) -> int:
    """The newest end of any phase of the run, or its begin."""
    end_ns = max(end_ns, unix_ns(given.run.started_at) or 0)
    if given.now_ns - end_ns <= _LONG_NS:
        return end_ns
    cursor.execute(_NEWEST_END, [given.run.pk])
    return max(end_ns, cursor.fetchone()[0] or 0)


def _live(given: _Given, told: _Told, last_end_ns: int) -> Live:
    spans, before = told.spans, given.memory.before
    ended = set(zip(spans.attempt.tolist(), spans.start.tolist(), strict=True))
    return Live(
        round=told.row.index, workers=given.workers, spans=spans,
        opens=tuple(one for one in given.opens if (one.attempt, one.start) not in ended),
        seen=given.seen,
        usual=before.of(told.row).usual,
        now_ns=given.now_ns, last_end_ns=last_end_ns,
        cold=before.cold(told.row, told.begun, given.now_ns),
        done=told.done, words=given.words,
    )  # fmt: skip
