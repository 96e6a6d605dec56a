"""Comparing what viewers were shown with Postgres: whatever the feed did not tell, for any reason, comes from here.

A kill between COMMIT and XADD, a lost Redis, a dropped entry: none of them can hide a span, for each look finds the
stream numbers that are stored and were not shown, and reads their rows.
"""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
from django.db.backends.utils import CursorWrapper

from dashboard.live.frames import Part, merge, parse
from dashboard.live.numbers import Numbers, count, each_meet, each_minus
from dashboard.live.steady import clock
from ingest.feed import events, messages
from ingest.feed.frames import FrameType, encode_json
from ingest.models import Run
from ingest.queries import live, live_events, live_state
from ingest.queries.one_snapshot import one_snapshot

# More than this at once is no hole in the feed but a reason to load a snapshot.
MOST_MISSING = 50_000
_ROUNDS = 256
_FINDINGS = 200
# Samples and events that the feed did not tell are looked for this far back, as far as a snapshot goes: older ones
# come with the history that a viewer asks for.
_SAMPLES_NS = 20 * 60 * 10**9


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found. `part` is to be shown to all and tells of `numbers`; `missing` was not shown before it.

    `missing` is not in `part` where it may still be on its way through the feed; `beyond` says that it is too much.
    """

    part: Part
    numbers: Numbers
    stored: Numbers
    missing: Numbers
    beyond: bool


@dataclass(slots=True)
class Comparison:
    """Looks at one run, one look at a time; remembers what it has said, so that it says only what is new."""

    run_id: UUID
    state: Part = field(default_factory=dict)  # all that looks have said, but for what happened and stays
    _meta_version: tuple[Any, ...] = ()
    _meta: dict[str, Any] = field(default_factory=dict)
    _rounds: dict[live_state.RoundKey, live_state.RoundVersion] = field(default_factory=dict)
    _findings: dict[UUID, int] = field(default_factory=dict)
    _attempts: dict[int, live_state.Attempt] = field(default_factory=dict)

    def look(self, shown: Numbers | None, suspects: Numbers, *, sure: bool) -> Look | None:
        """Read the run in one snapshot of the database; None where it is gone. Blocks, and raises what Django raises.

        What is stored and not `shown` (None: nobody was shown anything yet) may be on its way. It is sent when it was
        missing before (`suspects`), or at once when it is `sure` that the feed will not bring it.
        """
        try:
            with one_snapshot() as cursor:
                run = Run.objects.filter(pk=self.run_id).first()
                if run is None:
                    return None
                stored = live_state.stored_numbers(cursor, run)
                missing = {} if shown is None else each_minus(stored, shown)
                told = missing if sure else each_meet(missing, suspects)
                beyond = count(missing) > MOST_MISSING
                rows = [] if beyond else self._rows(cursor, run, told)
                changes = self._changes(cursor, run)
        except Exception:
            self._forget()  # some of what this look would have said is already marked as said
            raise
        kept = [parse(payload) for payload in changes if payload]
        self.state = self._bounded(merge([self.state, *kept]))
        part = merge([*kept, *(parse(payload) for payload in rows if payload)])
        return Look(part, told, stored, missing, beyond)

    def _rows(self, cursor: CursorWrapper, run: Run, told: Numbers) -> list[bytes]:
        wanted = [
            live.Wanted(stream, first, last, self._lowest_start(stream, first))
            for stream, ranges in told.items()
            for first, last in ranges
        ]
        if not wanted:
            return []
        now_ns = clock.now_ns()
        since_ns = min(messages.unix_ns(run.ended_at) or now_ns, now_ns) - _SAMPLES_NS
        found = live.samples_by_number(cursor, run, wanted, since_ns=since_ns, limit=MOST_MISSING)
        instants = live_events.events_by_number(cursor, run, wanted, since_ns=since_ns, limit=MOST_MISSING)
        return [
            messages.spans(live.spans_by_number(cursor, run, wanted, MOST_MISSING)),
            events.events(instants),
            messages.gaps(live.gaps_by_number(cursor, run, wanted)),
            messages.samples(found["series"], found["time_ns"], found["value"]),
        ]

    def _lowest_start(self, stream: int, first: int) -> int:
        """A phase among records from `first` on was open at the look before, or has begun since; else unknown."""
        before = self._attempts.get(stream)
        return before.lowest_start if before and before.beat.number < first else 0

    def _changes(self, cursor: CursorWrapper, run: Run) -> list[bytes]:
        return [self._names(cursor, run), self._steps(cursor, run), self._beats(cursor, run), self._verdicts(run)]

    def _names(self, cursor: CursorWrapper, run: Run) -> bytes:
        version = live_state.meta_version(cursor, run)
        if version == self._meta_version:
            return b""
        meta = live_state.meta_entries(cursor, run)
        news = {key: _news(self._meta.get(key), value) for key, value in meta.items()}
        self._meta_version, self._meta = version, meta
        changed = {key: value for key, value in news.items() if value or value == 0}
        return encode_json(FrameType.META, changed) if changed else b""

    def _steps(self, cursor: CursorWrapper, run: Run) -> bytes:
        versions = live_state.round_versions(cursor, run, _ROUNDS)
        changed = {key for key, version in versions.items() if self._rounds.get(key) != version}
        self._rounds = versions
        return live_state.steps(run, live_state.rounds_at(run, changed)) if changed else b""

    def _beats(self, cursor: CursorWrapper, run: Run) -> bytes:
        """Every attempt of which more is awaited, and those that have changed."""
        found = {attempt.stream: attempt for attempt in live_state.attempts(cursor, run)}
        told = [a.beat for stream, a in found.items() if not a.over or self._attempts.get(stream) != a]
        self._attempts = found
        return messages.beats(told)

    def _verdicts(self, run: Run) -> bytes:
        versions = live_state.finding_versions(run, _FINDINGS)
        changed = [key for key, version in versions.items() if self._findings.get(key) != version]
        self._findings = versions
        return messages.findings(live_state.findings_with(run, changed)) if changed else b""

    def _forget(self) -> None:
        self._meta_version, self._meta = (), {}
        self._rounds, self._findings, self._attempts = {}, {}, {}

    def _bounded(self, state: Part) -> Part:
        """The state without rounds and findings that are no longer among the newest."""
        bounded = dict(state)
        if steps := bounded.get(FrameType.STEP):
            keys = zip(steps["index"].tolist(), steps["generation"].tolist(), strict=True)
            keep = np.array([key in self._rounds for key in keys], bool)
            bounded[FrameType.STEP] = {name: column[keep] for name, column in steps.items()}
        if findings := bounded.get(FrameType.FINDING):
            known = {str(key) for key in self._findings}
            bounded[FrameType.FINDING] = [finding for finding in findings if finding["id"] in known]
        return bounded


def _news(before: Any, now: Any) -> Any:
    """What of one of META's parts has changed: of a list the items that are new, else all of it or None."""
    if isinstance(now, list):
        known = before or []
        return [item for place, item in enumerate(now) if place >= len(known) or known[place] != item]
    return None if before == now else now
