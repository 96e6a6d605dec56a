"""A bounded queue in front of the store: a few threads take what waits, several requests to a transaction."""

import logging
import threading
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError, connection

from ingest.api.decode import job
from ingest.api.outage import DOWN, Outage
from ingest.api.tellers import Tellers
from ingest.store import telemetry
from ingest.store.arrivals import Fault, Job
from ingest.store.telemetry import Outcome

THREADS = 3
MAX_WAITING = 256
MAX_WAITING_BYTES = 64 << 20
_MAX_TOGETHER = 64
_MAX_TOGETHER_BYTES = 1 << 20
_MAX_TOGETHER_INFLATED = 16 << 20
_BUSY = Fault(503, "busy", "The server is busy; try again in a second.")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ticket:
    """A request that waits to be written; `outcome` is set once it is committed or refused."""

    team_id: UUID
    body: bytes
    encoding: str
    arrived_ns: int
    outcome: Future[Outcome] = field(default_factory=Future)


class Writers:
    """The queue and its threads, started by the first request. Threads may share it."""

    def __init__(self, tellers: Tellers, outage: Outage, *, threads: int = THREADS, most: int = MAX_WAITING) -> None:
        """Prepare; `tellers` get the news of every transaction, `most` requests may wait.

        While the `outage` lasts, requests are sent away unread.
        """
        self._tellers, self._outage, self._threads, self._most = tellers, outage, threads, most
        self._waiting: deque[Ticket] = deque()
        self._bytes = 0
        self._of_team: Counter[UUID] = Counter()
        # How many threads are writing something of a team; one is always left to the others.
        self._writing: Counter[UUID] = Counter()
        self._most_writing = max(threads - 1, 1)
        self._changed = threading.Condition()
        self._running: list[threading.Thread] = []
        self._closing = False

    def put(self, ticket: Ticket) -> None:
        """Queue a request. Raises Fault 503 when the queue is full, 429 when the team's half of it is."""
        with self._changed:
            if self._closing or len(self._waiting) >= self._most or self._bytes + len(ticket.body) > MAX_WAITING_BYTES:
                raise _BUSY
            if self._of_team[ticket.team_id] >= max(self._most // 2, 1):
                raise Fault(429, "too_many", "Too many requests of this team wait; try again in a second.")
            self._waiting.append(ticket)
            self._bytes += len(ticket.body)
            self._of_team[ticket.team_id] += 1
            self.start(self._threads)
            self._changed.notify()

    def close(self) -> None:
        """Write what waits, then end the threads; whoever comes later is sent away."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._running:
            thread.join()
        for ticket in self._waiting:  # without threads nobody took them
            if ticket.outcome.set_running_or_notify_cancel():
                ticket.outcome.set_result(Outcome(fault=_BUSY))

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
        """What waits, up to a transaction's worth; blocks while nothing may be taken, None when it is time to end."""
        with self._changed:
            self._changed.wait_for(lambda: any(map(self._free, self._waiting)) or (self._closing and not self._waiting))
            if not self._waiting:
                return None
            taken, size = self._pick()
            self._bytes -= size
            self._of_team.subtract(ticket.team_id for ticket in taken)
            self._of_team += Counter()  # drops teams that wait no more
            # A client that left meanwhile has cancelled; it will send again.
            running = [ticket for ticket in taken if ticket.outcome.set_running_or_notify_cancel()]
            self._writing.update({ticket.team_id for ticket in running})
            return running

    def _free(self, ticket: Ticket) -> bool:
        return self._writing[ticket.team_id] < self._most_writing

    def _pick(self) -> tuple[list[Ticket], int]:
        """The oldest tickets of teams that may be written, taken out of the queue, and their size."""
        taken: list[Ticket] = []
        kept: deque[Ticket] = deque()
        size = 0
        for ticket in self._waiting:
            if len(taken) < _MAX_TOGETHER and size < _MAX_TOGETHER_BYTES and self._free(ticket):
                taken.append(ticket)
                size += len(ticket.body)
            else:
                kept.append(ticket)
        self._waiting = kept
        return taken, size

    def _done(self, tickets: Sequence[Ticket]) -> None:
        with self._changed:
            self._writing.subtract({ticket.team_id for ticket in tickets})
            self._writing += Counter()
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
        if not self._outage.lasts and self._store(readable, final=False):
            return
        for each in readable:
            if self._outage.lasts:
                each[0].outcome.set_result(Outcome(fault=DOWN))
            else:
                self._store([each], final=True)

    def _store(self, readable: Sequence[tuple[Ticket, Job]], *, final: bool) -> bool:
        """Write together; returns False, unless `final`, when the database refused and each is to be tried alone."""
        try:
            written = telemetry.write([work for _, work in readable])
        except Exception as error:  # noqa: BLE001 - a writer must outlive whatever it is given
            # The connection may be what is broken; the next try gets another.
            connection.close()
            if final:
                fault = _fault_of(error)
                if fault is DOWN:
                    self._outage.begin()
                readable[0][0].outcome.set_result(Outcome(fault=fault))
            return final
        for (ticket, _), outcome in zip(readable, written.outcomes, strict=True):
            ticket.outcome.set_result(outcome)
        self._tellers.tell(written.news)
        return True


def _read(ticket: Ticket) -> Job | None:
    """The ticket's work, or None where it cannot be read and has been answered so."""
    try:
        return job(ticket.team_id, ticket.body, ticket.encoding, ticket.arrived_ns)
    except Fault as fault:
        ticket.outcome.set_result(Outcome(fault=fault))
    except Exception:  # noqa: BLE001 - whatever a hostile body has found, its neighbours are written
        _log.exception("A request could not be read.")
        ticket.outcome.set_result(Outcome(fault=Fault(422, "unreadable", "The request cannot be read.")))
    return None


def _fault_of(error: Exception) -> Fault:
    if isinstance(error, Fault):  # the store's own: too many new runs
        return error
    if isinstance(error, OperationalError | InterfaceError):
        _log.warning("The database does not answer: %s", error)
        return DOWN
    _log.error("A request could not be stored.", exc_info=error)
    if isinstance(error, DatabaseError):
        return Fault(422, "unstorable", "The database refuses what the request holds.")
    return Fault(503, "failed", "The server could not store the request; try again in a second.")
