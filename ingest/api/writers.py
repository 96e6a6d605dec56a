"""A bounded queue in front of the store: a few threads take what waits, several requests to a transaction."""

import contextlib
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db import connection

from ingest.api.decode import job
from ingest.api.failures import UNANSWERED, failed, fault_of
from ingest.api.outage import Outage, down
from ingest.api.room import busy
from ingest.api.tellers import Tellers
from ingest.api.waiting import MAX_WAITING, Ticket, Waiting
from ingest.store import telemetry
from ingest.store.arrivals import Fault, Job
from ingest.store.telemetry import Outcome

THREADS = 4  # while some wait for Postgres, others read what comes next; more only wait for one another
_MAX_TOGETHER_INFLATED = 16 << 20
_FREE_S, _BATCH_S, _RECORD_S = 0.01, 1e-4, 2e-5
_log = logging.getLogger(__name__)


class Writers:
    """The queue and its threads, started by the first request. Threads may share it."""

    def __init__(self, tellers: Tellers, outage: Outage, *, threads: int = THREADS, most: int = MAX_WAITING) -> None:
        """Prepare; `tellers` get the news of every transaction, `most` requests may wait.

        While the `outage` lasts, requests are sent away unread.
        """
        self._tellers, self._outage, self._threads = tellers, outage, threads
        self._waiting = Waiting(most)
        # How many threads are writing something of a team. One is always left to the others.
        self._writing: Counter[UUID] = Counter()
        self._most_writing = max(threads - 1, 1)
        self._changed = threading.Condition()
        self._running: list[threading.Thread] = []
        self._closing = False

    def require_credit(self, team_id: UUID) -> None:
        """Raise Fault 429 while too much of what the team sends is refused: nothing of it is to be read then."""
        with self._changed:
            self._waiting.require_credit(team_id)

    def put(self, ticket: Ticket) -> None:
        """Queue a request. Raises Fault 503 when the queue is full or the database silent, 429 as the queue does."""
        self._outage.require_answers()
        with self._changed:
            if self._closing:
                raise busy()
            self._waiting.put(ticket)
            self.start(self._threads)
            self._wake_one()

    def close(self) -> None:
        """Write what waits, then end the threads; whoever comes later is sent away."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._running:
            thread.join()
        self._waiting.send_away(busy())  # without threads nobody took them

    def start(self, threads: int) -> None:
        """Let that many threads write, where fewer do."""
        while len(self._running) < threads:
            thread = threading.Thread(target=self._run, name=f"ingest-writer-{len(self._running)}", daemon=True)
            self._running.append(thread)
            thread.start()

    def _run(self) -> None:
        try:
            while (tickets := self._take()) is not None:
                try:
                    self._write(tickets)
                finally:
                    self._done(tickets)
        finally:
            connection.close()

    def _take(self) -> list[Ticket] | None:
        """What to write next; blocks while nothing may be taken, None when it is time to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._takeable() or (self._closing and not self._waiting))
            if not self._waiting:
                return None
            taken = self._waiting.take(self._free)
            self._writing.update({ticket.team_id for ticket in taken})
            self._wake_one()
            return taken

    def _takeable(self) -> bool:
        return any(map(self._free, self._waiting.teams()))

    def _wake_one(self) -> None:
        """Of those who rest, where there is something to do: all of them at once would wait for the interpreter."""
        if self._takeable():
            self._changed.notify()

    def _free(self, team_id: UUID) -> bool:
        """Whether one thread more may write of the team. Beside others it is a single one that takes what has come
        meanwhile, until as much waits as it may take.
        """
        one = self._waiting.shared(team_id) and not self._waiting.whole(team_id)
        return self._writing[team_id] < (1 if one else self._most_writing)

    def _done(self, tickets: Sequence[Ticket]) -> None:
        with self._changed:
            self._writing.subtract({ticket.team_id for ticket in tickets})
            self._writing += Counter()  # drops teams of whom nothing is written
            for ticket in tickets:
                self._waiting.settle(ticket)
            if self._closing:
                self._changed.notify_all()

    def _write(self, tickets: Sequence[Ticket]) -> None:
        together: list[tuple[Ticket, Job]] = []
        size = 0
        for ticket in tickets:
            work = _read(ticket)
            if work is not None:
                together.append((ticket, work))
                size += work.size
            if size > _MAX_TOGETHER_INFLATED:
                self._store_all(together)
                together, size = [], 0
        if together:
            self._store_all(together)

    def _store_all(self, readable: Sequence[tuple[Ticket, Job]]) -> None:
        """Write together, or else one by one, so that one that cannot be stored fails alone."""
        if not self._outage.lasts:
            error = self._store(readable)
            if error is None:
                return
            if len(readable) == 1 and not isinstance(error, UNANSWERED):  # tried again, it would fail again
                self._refuse(readable[0][0], error)
                return
        for each in readable:
            if self._outage.lasts:
                each[0].outcome.set_result(Outcome(fault=down()))
            elif error := self._store([each]):
                self._refuse(each[0], error)

    def _store(self, readable: Sequence[tuple[Ticket, Job]]) -> Exception | None:
        """Write together and answer all; or none, and return why it cannot be done."""
        try:
            with _shared_out(readable), self._outage.asking():
                written = telemetry.write([work for _, work in readable])
        except Exception as error:  # noqa: BLE001 - a writer must outlive whatever it is given
            # The connection may be what is broken; the next try gets another.
            connection.close()
            return error
        for (ticket, _), outcome in zip(readable, written.outcomes, strict=True):
            ticket.outcome.set_result(outcome)
        self._tellers.tell(written.news)
        return None

    def _refuse(self, ticket: Ticket, error: Exception) -> None:
        fault = fault_of(error)
        if isinstance(error, UNANSWERED):
            self._outage.begin()
        elif fault.status in {413, 422}:
            ticket.wasted_s = ticket.spent_s
        ticket.outcome.set_result(Outcome(fault=fault))


def _read(ticket: Ticket) -> Job | None:
    """The ticket's work, or None where it cannot be read and has been answered so."""
    began, excused = time.thread_time(), 0.0
    try:
        work = job(ticket.team_id, ticket.body, ticket.encoding, ticket.arrived_ns)
    except Fault as fault:
        ticket.outcome.set_result(Outcome(fault=fault.afresh()))
    except Exception:  # noqa: BLE001 - whatever a body has found, its neighbours are written
        _log.exception("A request could not be read.")
        ticket.outcome.set_result(Outcome(fault=failed()))
        excused = math.inf  # its sender owes nothing for a fault of ours
    else:
        excused = _excused(work)
        return work
    finally:
        ticket.spent_s += time.thread_time() - began
        ticket.wasted_s += max(ticket.spent_s - excused, 0.0)
    return None


def _excused(work: Job) -> float:
    """Seconds that reading it may take for what it brings in: several times what honest requests take."""
    records = sum(len(a.phases) + len(a.events) + len(a.samples) + len(a.rounds) + len(a.turns) for a in work.arrivals)
    return _FREE_S + _BATCH_S * len(work.arrivals) + _RECORD_S * records


@contextlib.contextmanager
def _shared_out(written: Sequence[tuple[Ticket, Job]]) -> Iterator[None]:
    """Divide what a transaction takes among its requests, by their size, whichever way it ends."""
    began, total = time.monotonic(), sum(work.size + 1 for _, work in written)
    try:
        yield
    finally:
        seconds = time.monotonic() - began
        for ticket, work in written:
            ticket.spent_s += seconds * (work.size + 1) / total
