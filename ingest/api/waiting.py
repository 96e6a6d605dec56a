"""The bounded queue in front of the writers: what waits, of whom, and what is taken next."""

import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from uuid import UUID

from ingest.api.company import Company
from ingest.api.debts import Debts
from ingest.api.room import busy, half, too_many
from ingest.api.shares import Shares
from ingest.store.arrivals import Fault
from ingest.store.telemetry import Outcome

# A thousand ranks that send for themselves, and in step, may be the half of one team.
MAX_WAITING = 2048
MAX_WAITING_BYTES = 64 << 20
_MAX_TOGETHER = 64
_MAX_TOGETHER_BYTES = 1 << 20
# Seconds of work that go into one transaction: of one team, by what its requests take on average; of several, which
# then wait for one another, by what they took at worst.
_MOST_ALONE_S = 0.2
_MOST_MIXED_S = 0.05


@dataclass(slots=True, eq=False)
class Ticket:
    """A request that waits to be written; `outcome` is set once it is committed or refused.

    `charged_s` are the seconds for which its team was charged when it was taken, `spent_s` those that it took, of which
    `wasted_s` in vain.
    """

    team_id: UUID
    body: bytes
    encoding: str
    arrived_ns: int
    outcome: Future[Outcome] = field(default_factory=Future)
    charged_s: float = 0.0
    spent_s: float = 0.0
    wasted_s: float = 0.0

    def refuse(self, fault: Fault) -> None:
        """Answer with a refusal, unless its client has left."""
        if self.outcome.set_running_or_notify_cancel():
            self.outcome.set_result(Outcome(fault=fault))


class Waiting:
    """Requests by team, each team's in the order of their arrival. For one thread at a time."""

    def __init__(self, most: int = MAX_WAITING, most_bytes: int = MAX_WAITING_BYTES) -> None:
        """Prepare; so many requests and bytes may wait, of one team half as many."""
        self._most, self._most_bytes = most, most_bytes
        self._queues: dict[UUID, deque[Ticket]] = {}
        self._bytes: Counter[UUID] = Counter()
        self._shares = Shares()
        self._debts = Debts()
        self._company = Company()

    def __len__(self) -> int:
        """How many requests wait."""
        return sum(map(len, self._queues.values()))

    def teams(self) -> list[UUID]:
        """Whose requests wait, those first who have waited longest in this queue."""
        return list(self._queues)

    def shared(self, team_id: UUID) -> bool:
        """Whether others than this team have sent something of late, whom its requests may hold up."""
        return self._company.beside(team_id, time.monotonic())

    def whole(self, team_id: UUID) -> bool:
        """Whether as much of the team waits as goes into one transaction."""
        return len(self._queues.get(team_id, ())) >= _MAX_TOGETHER or self._bytes[team_id] >= _MAX_TOGETHER_BYTES

    def require_credit(self, team_id: UUID) -> None:
        """Raise Fault 429 while too much of what the team sends is read in vain."""
        self._debts.require_credit(team_id, time.monotonic())

    def put(self, ticket: Ticket) -> None:
        """Queue a request. Raises Fault 503 when the queue is full, 429 when the team's half of it is, or it owes."""
        self.require_credit(ticket.team_id)
        size = len(ticket.body)
        if not self._room(size) and not self._displace(ticket.team_id, size):
            raise busy()
        queued = len(self._queues.get(ticket.team_id, ()))
        if queued >= half(self._most) or self._bytes[ticket.team_id] + size > half(self._most_bytes):
            raise too_many()
        if not queued:
            self._queues[ticket.team_id] = deque()
            self._shares.join(ticket.team_id)
        self._queues[ticket.team_id].append(ticket)
        self._company.comes(ticket.team_id, time.monotonic())
        self._bytes[ticket.team_id] += size

    def take(self, free: Callable[[UUID], bool]) -> list[Ticket]:
        """Up to a transaction's worth of requests of the teams that are `free`, least served first."""
        taken: list[Ticket] = []
        size, seconds, at_worst = 0, 0.0, 0.0
        teams = [team_id for team_id in self._queues if free(team_id)]
        while len(taken) < _MAX_TOGETHER and size < _MAX_TOGETHER_BYTES:
            teams = [team_id for team_id in teams if team_id in self._queues]
            if not teams:
                break
            team_id = self._shares.first(teams)
            length = len(self._queues[team_id][0].body)
            size += length
            seconds += (expected := self._shares.expected(team_id, length))
            at_worst += self._shares.at_worst(team_id, length)
            alone = all(each.team_id == team_id for each in taken)
            if taken and (seconds > _MOST_ALONE_S if alone else at_worst > _MOST_MIXED_S):
                break
            ticket = self._pop(team_id, newest=False)
            self._shares.charge(team_id, expected)
            ticket.charged_s = expected
            taken.append(ticket)
        return [ticket for ticket in taken if self._wanted(ticket)]

    def settle(self, ticket: Ticket) -> None:
        """What it took is known now; its team owes what of that was in vain."""
        self._shares.settle(ticket.team_id, len(ticket.body), ticket.charged_s, ticket.spent_s)
        if ticket.wasted_s > 0:
            self._debts.owe(ticket.team_id, ticket.wasted_s, time.monotonic())

    def send_away(self, fault: Fault) -> None:
        """Refuse all that waits."""
        for team_id in self.teams():
            while team_id in self._queues:
                self._pop(team_id, newest=False).refuse(fault)

    def _wanted(self, ticket: Ticket) -> bool:
        """Whether to go on with it: its client has not left, for it will send again, and its team has credit."""
        try:
            self.require_credit(ticket.team_id)
        except Fault as fault:
            ticket.refuse(fault)
        else:
            if ticket.outcome.set_running_or_notify_cancel():
                return True
        self._shares.charge(ticket.team_id, -ticket.charged_s)
        return False

    def _room(self, size: int, fewer: int = 0) -> bool:
        return len(self) - fewer < self._most and self._bytes.total() + size <= self._most_bytes

    def _displace(self, team_id: UUID, size: int) -> bool:
        """Send the newest away of whoever fills more of the queue than the newcomer would, until there is room.

        Nobody, where that would make none.
        """
        leaving: Counter[UUID] = Counter()
        freed: Counter[UUID] = Counter()

        def filled(each: UUID) -> float:
            return self._filled(each, -leaving[each], -freed[each])

        while not self._room(size - freed.total(), leaving.total()):
            fullest = max(self._queues, key=filled, default=None)
            if fullest is None or filled(fullest) <= self._filled(team_id, 1, size):
                return False
            leaving[fullest] += 1
            freed[fullest] += len(self._queues[fullest][-leaving[fullest]].body)
        for each in leaving.elements():
            self._pop(each, newest=True).refuse(too_many())
        return True

    def _filled(self, team_id: UUID, more: int = 0, more_bytes: int = 0) -> float:
        """Which part of the queue the team fills, by number or by bytes, with so much more."""
        count, size = len(self._queues.get(team_id, ())) + more, self._bytes[team_id] + more_bytes
        return max(count / self._most, size / self._most_bytes)

    def _pop(self, team_id: UUID, *, newest: bool) -> Ticket:
        queue = self._queues[team_id]
        ticket = queue.pop() if newest else queue.popleft()
        self._bytes[team_id] -= len(ticket.body)
        if not queue:
            del self._queues[team_id], self._bytes[team_id]
        return ticket
