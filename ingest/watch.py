"""The watcher: what time alone brings about, done by one leader however many watchers run.

Each chore has a period and runs when its monotonic deadline has come. Nothing is remembered that Postgres does not
know, so that a watcher may die at any moment and another go on.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from ingest import partitions
from ingest.feed import messages
from ingest.feed.publisher import publish, publish_findings
from ingest.feed.starting import start
from ingest.queries import rounds as queries
from ingest.queries import runs
from ingest.queries.intervals import runs_due
from ingest.queries.unjudged import unjudged
from ingest.store import (
    deletion,
    exports,
    findings,
    intervals,
    outbox,
    retention,
    rounds,
    run_figures,
    standings,
    states,
)

_log = logging.getLogger(__name__)

_UNJUDGED_FOR_S = 2.0  # a closed round is left to the one who closed it for so long
_ASK_AGAIN_S = 15.0  # then asked for again, should the task have been lost
_MOST_ASKED = 500
_MOST_DUE = 50  # runs at a time
_AFTERWARDS_S = 15.0  # between two looks at the memory that an ended run holds
QUICK_LOCK, SLOW_LOCK, OPEN_LOCK = 72_021, 72_022, 72_023  # only have to differ from our other advisory locks


@dataclass(slots=True)
class Chore:
    """Something to do every `period_s` seconds."""

    name: str
    period_s: float
    work: Callable[[], None]
    due: float = 0.0

    def run_if_due(self, now: float) -> None:
        """Do it when its time has come; the next time is counted from this one, and what was missed is not made up."""
        if now < self.due:
            return
        self.due = now + self.period_s
        self.work()


def close_rounds() -> None:
    """Close what is over in runs that have open rounds, tell viewers, and have it judged."""
    for run_id in queries.runs_with_open():
        closed = rounds.close_ended(run_id)
        if not closed:
            continue
        told = queries.steps(run_id, [one.id for one in closed])
        publish(run_id, messages.steps(told.rows, told.newest))
        for row in told.rows:
            start("ingest.judge_round", str(run_id), row.index, row.generation)


@dataclass(slots=True)
class Unjudged:
    """Asks for the judgement of closed rounds that have waited for it: their task was lost, or its worker died."""

    clock: Callable[[], float] = time.monotonic
    _asked: dict[tuple[int, int], float] = field(default_factory=dict)

    def scan(self) -> None:
        """Ask for what was seen unjudged a while ago, and not lately; what was not taken is asked for the next time."""
        now, seen, taken = self.clock(), {}, True
        for one in unjudged(_MOST_ASKED):
            due = self._asked.get((one.id, one.version), now + _UNJUDGED_FOR_S)
            if now >= due and taken:
                taken = start("ingest.judge_round", str(one.run_id), one.index, one.generation)
                due = now + _ASK_AGAIN_S if taken else now
            seen[one.id, one.version] = due
        self._asked = seen


@dataclass(slots=True)
class Afterwards:
    """Asks for the judgement of memory after the end of runs, as long as more of it is told."""

    clock: Callable[[], float] = time.monotonic
    _asked: dict[UUID, tuple[int, float]] = field(default_factory=dict)

    def scan(self) -> None:
        """Ask for runs of which something was stored since the last time, but of each not too often."""
        now, asked = self.clock(), self._asked
        self._asked = {}
        for run_id, told in runs.told_after_the_end(timezone.now()).items():
            known = self._asked[run_id] = asked.get(run_id, (-1, now - _AFTERWARDS_S))
            if known[0] != told and now - known[1] >= _AFTERWARDS_S and start("ingest.judge_memory", str(run_id)):
                self._asked[run_id] = (told, now)


@dataclass(slots=True)
class DueRuns:
    """Starts a task for runs that are `due` for it until they are no more, but of each not too often."""

    task: str
    due: Callable[[int], Sequence[UUID]]
    clock: Callable[[], float] = time.monotonic
    _asked: dict[UUID, float] = field(default_factory=dict)

    def scan(self) -> None:
        """Ask for what is due and was not asked for lately; what was not taken is asked for the next time."""
        now, asked, self._asked = self.clock(), self._asked, {}
        for run_id in self.due(_MOST_DUE):
            last = asked.get(run_id, now - _ASK_AGAIN_S)
            again = now - last >= _ASK_AGAIN_S and start(self.task, str(run_id))
            self._asked[run_id] = now if again else last


def sweep() -> None:
    """Turn silent workers stale and lost, and runs with them."""
    states.sweep(timezone.now())


def resolve_findings() -> None:
    """Close the incidents of runs that have ended."""
    for run_id, changed in findings.resolve_of_ended_runs().items():
        publish_findings(run_id, changed)


def sum_up_runs() -> None:
    """Bring up to date what the list of runs sorts and filters by."""
    standings.bring_up()


def tell_people() -> None:
    """Ask for what people are still to be told of: its task was lost, or its next try has come."""
    outbox.ask_if_due(timezone.now())


def go_on_deleting() -> None:
    """Ask for the rest of deletions that have begun."""
    for run_id in deletion.unfinished():
        start(deletion.DELETE, str(run_id))


def go_on_exporting() -> None:
    """Ask for the rest of exports that have begun."""
    exports.ask_again(timezone.now())


def reclaim() -> None:
    """Make the space of what was deleted usable again."""
    due = deletion.to_reclaim()
    if due:
        partitions.make_room(min(one.first_day for one in due), max(one.last_day for one in due))
        deletion.reclaimed(due)


def keep_days() -> None:
    """Make the partitions of the next days and drop those whose retention is over."""
    today = timezone.now().date()
    partitions.ensure(today)
    for table in retention.DAYS:
        for day in partitions.drop_before(table, retention.oldest_day(table, today)):
            _log.info("dropped %s of %s", table, day)
    while retention.delete_for_teams(today):
        pass
    for run_id in retention.runs_too_old(today):
        deletion.mark(run_id)
        start(deletion.DELETE, str(run_id))
    start(outbox.PRUNE)
    start(exports.SWEEP)


def quick_chores() -> list[Chore]:
    """What keeps the live view and verdicts current."""
    return [
        Chore("sweep", 1.0, sweep),
        Chore("close rounds", 1.0, close_rounds),
        Chore("unjudged rounds", 2.0, Unjudged().scan),
        Chore("memory after the end", 5.0, Afterwards().scan),
        Chore("findings of ended runs", 5.0, resolve_findings),
        Chore("alerts", 2.0, tell_people),
        Chore("standings", 1.0, sum_up_runs),
        Chore("intervals", 5.0, DueRuns(intervals.TASK, runs_due).scan),
        Chore("figures of runs", 5.0, DueRuns(run_figures.TASK, run_figures.due).scan),
        Chore("deletions", 30.0, go_on_deleting),
        Chore("exports", 5.0, go_on_exporting),
    ]


def slow_chores() -> list[Chore]:
    """What may take long: detaching a partition waits for the readers of it."""
    return [Chore("days", 3600.0, keep_days), Chore("space", 30.0, reclaim)]


class Watcher:
    """Runs the chores while it leads; any number may wait to take over."""

    def __init__(self, chores: Sequence[Chore], lock: int, *, tick_s: float = 0.25) -> None:
        """`lock` is the number of the advisory lock whose holder leads."""
        self._chores, self._lock, self._tick_s = chores, lock, tick_s
        self._holder: psycopg.Connection[Any] | None = None
        self._leading = False

    def run(self, stopped: threading.Event) -> None:
        """Lead and work until `stopped`; a lost database is waited for, longer each time up to two seconds."""
        wait_s = 0.0
        while not stopped.wait(wait_s):
            try:
                leads = self._lead()
                if leads:
                    self._work(stopped)
                wait_s = self._tick_s if leads else 1.0
            except Exception as error:  # noqa: BLE001 - whatever fails must not end the watch
                _log.warning("the watch is interrupted: %s: %s", type(error).__name__, error)
                self._let_go()
                wait_s = min(max(2 * wait_s, 0.25), 2.0)
        self._let_go()

    def _lead(self) -> bool:
        """Whether the lock is ours. It lives as long as a connection of its own: pooled ones change hands."""
        if self._holder is None:
            self._holder = psycopg.connect(**connection.get_connection_params(), autocommit=True)
        statement = "SELECT pg_try_advisory_lock(%s)" if not self._leading else "SELECT true"
        row = self._holder.execute(statement, [self._lock] if not self._leading else None).fetchone()
        self._leading = bool(row and row[0])
        return self._leading

    def _let_go(self) -> None:
        with contextlib.suppress(Exception):
            if self._holder is not None:
                self._holder.close()
        self._holder, self._leading = None, False
        with contextlib.suppress(Exception):
            connection.close()

    def _work(self, stopped: threading.Event) -> None:
        for chore in self._chores:
            if stopped.is_set():
                return
            try:
                chore.run_if_due(time.monotonic())
            except (OperationalError, InterfaceError):
                raise  # the connection is gone, and with it what the other chores need
            except Exception:  # noqa: BLE001 - one chore must not stop the others
                _log.exception("%s failed and is tried again in %s s", chore.name, chore.period_s)
