"""Watches phases that are open: looks at a run when a deadline has come, when it has news, and each second or so.

Deadlines are hints in Redis; a look reads everything from Postgres, so that nothing is said that does not hold there,
and the scan finds what a lost Redis or a dead watcher forgot.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction

from ingest.detection.slow_phase import Level, Live, Watched, judge
from ingest.detection.thresholds import Thresholds
from ingest.detection.verdicts import Verdict
from ingest.feed import deadlines, messages
from ingest.feed.publisher import publish, publish_findings
from ingest.queries import finding_stacks, open_phases, thresholds
from ingest.store import live_findings
from ingest.store.live_findings import KINDS, STACKS, Kept
from ingest.store.locks import Lock, try_hold

_log = logging.getLogger(__name__)

EVERY_S = 0.25
_SCAN_S = 1.0
_SHARE = 20.0  # a run is looked at for at most a twentieth of the time, but at least once a second
_LEAST_S, _MOST_S = 0.25, 1.0
_AFTER_FAILURE_S = 30.0
_AWAY_S = 3.0  # whoever has not looked for so long has not listened
_AMBER_AGAIN_S = 2.0  # said again to those who have come since
_OF_THE_RUN = {"worker_lost", "run_stalled"}

Amber = tuple[tuple[int, int, int], ...]


@dataclass(slots=True)
class _Looked:
    """When a run may be looked at again, when it was (monotonic), and what was said to be amber, and when."""

    again: float = 0.0
    at: float = 0.0
    amber: Amber | None = None
    told: float = 0.0


@dataclass(slots=True)
class OpenPhases:
    """All runs that go on, and what one watcher remembers of them; it has listened since `since_ns` (Unix)."""

    since_ns: int = field(default_factory=time.time_ns)
    _memory: open_phases.Memory = field(default_factory=open_phases.Memory)
    _looked: dict[UUID, _Looked] = field(default_factory=dict)
    _scan: float = 0.0
    _passed: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        """Look at the runs that are due; to be called each 250 ms."""
        now = time.monotonic()
        if now - self._passed > _AWAY_S:
            self.since_ns = time.time_ns()
        due = list(deadlines.take_due(time.time()))
        for run_id in due:
            self._look_if_rested(run_id)
        if now >= self._scan:
            self._scan_all()
        self._passed = time.monotonic()

    def _scan_all(self) -> None:
        begun, running = time.monotonic(), open_phases.running()
        self._looked = {run_id: self._looked.get(run_id, _Looked()) for run_id in running}
        for run_id in running:
            if begun - self._looked[run_id].at >= _SCAN_S - EVERY_S:
                self._look_if_rested(run_id)
        now = time.monotonic()
        self._scan = max(begun + _SCAN_S, now + (now - begun))

    def _look_if_rested(self, run_id: UUID) -> None:
        looked, begun = self._looked.setdefault(run_id, _Looked()), time.monotonic()
        if begun < looked.again:
            deadlines.look_at(run_id, time.time() + looked.again - begun)
            return
        try:
            self._look_at(run_id, looked)
        except (OperationalError, InterfaceError):
            raise
        except Exception:  # noqa: BLE001 - one run must not keep the others from being watched
            _log.exception("The open phases of run %s could not be looked at.", run_id)
            looked.again = time.monotonic() + _AFTER_FAILURE_S
            return
        looked.at = time.monotonic()
        looked.again = looked.at + min(max((looked.at - begun) * _SHARE, _LEAST_S), _MOST_S)

    def _look_at(self, run_id: UUID, looked: _Looked) -> None:
        open_phases.prepare(run_id, self._memory)
        with transaction.atomic():
            # Whoever judges the closed round must not find its verdict overruled by an older look at it.
            if not try_hold(Lock.JUDGING, run_id):
                deadlines.look_at(run_id, time.time() + EVERY_S)
                return
            lives = open_phases.look(run_id, self._memory, self.since_ns)
            if not lives:
                return
            limits = thresholds.of_run(run_id)
            watched = [judge(live, limits.slow_phase) for live in lives]
            kept = self._keep(run_id, lives[-1], watched, limits)
        publish_findings(run_id, kept.changed)
        self._tell_amber(run_id, watched, looked)
        _plan(run_id, watched)

    def _keep(self, run_id: UUID, newest: Live, watched: Sequence[Watched], limits: Thresholds) -> Kept:
        known = live_findings.open_now(run_id)
        verdicts = []
        for verdict in limits.said(_verdicts(watched)):
            row = known.get(verdict.fingerprint)
            stacks = [] if row is None else row.evidence.get(STACKS, [])
            if row is not None and verdict.kind == live_findings.SLOW:
                stacks = finding_stacks.taken(run_id, verdict.marks, stacks)
            verdicts.append(replace(verdict, evidence={**verdict.evidence, STACKS: stacks}) if stacks else verdict)
        # Who has not listened for long enough cannot tell who is lost, nor who is no longer.
        listened = newest.now_ns - self.since_ns > (limits.slow_phase.lost_s + 1) * 1e9
        kept = live_findings.keep(run_id, known, verdicts, KINDS if listened else KINDS - {"worker_lost"})
        live_findings.ask_for_stacks(run_id, kept.joined)
        return kept

    def _tell_amber(self, run_id: UUID, watched: Sequence[Watched], looked: _Looked) -> None:
        """Tell viewers which open bars are amber: all at once, and again while there are any."""
        marks = [mark for one in watched for mark in one.marks if mark.level >= Level.SUSPECT]
        amber = tuple(sorted((mark.attempt, mark.start, mark.lane) for mark in marks))
        now = time.monotonic()
        if amber != looked.amber or (amber and now - looked.told >= _AMBER_AGAIN_S):
            publish(run_id, messages.amber(amber))
            looked.amber, looked.told = amber, now


def _verdicts(watched: Sequence[Watched]) -> list[Verdict]:
    """Of each round what is said of its phases, and of the newest what is said of the run."""
    *earlier, newest = watched
    of_phases = [verdict for one in earlier for verdict in one.verdicts if verdict.kind not in _OF_THE_RUN]
    return [*of_phases, *newest.verdicts]


def _plan(run_id: UUID, watched: Sequence[Watched]) -> None:
    """Look again when the next phase reaches a limit; where it should have by now, as soon as its agent says so."""
    nearest = min((deadline.at_ns for one in watched for deadline in one.deadlines), default=None)
    if nearest is not None:
        deadlines.look_at(run_id, max(nearest / 1e9, time.time() + EVERY_S))
