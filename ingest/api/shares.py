"""Whose request is next: the team that has used the least of the writers' time, so that a flood waits for itself.

Start-time fair queueing (Goyal, Vin and Cheng, 1996) with equal weights: a team's clock runs by what it costs, and who
comes back after a rest starts where the others are. Nobody saves time up, and nobody waits for more than what runs.
"""

from collections.abc import Iterable
from uuid import UUID

# What a request costs as long as nothing is known of its team, in seconds: so much, and so much a compressed byte.
_EACH_S = 0.002
_BYTE_S = 3e-7
# One request's outlier (a database that paused) shall not keep its team waiting for minutes.
_MOST_S = 1.0
_LEARN, _FORGET = 0.25, 0.03
_MOST_KNOWN = 1_000


class Shares:
    """What teams have used, in seconds of a clock that only orders them. For one thread at a time."""

    def __init__(self) -> None:
        """Begin with nobody known."""
        self._used: dict[UUID, float] = {}
        self._now = 0.0  # what the team picked last had used by then
        # How much dearer a team's requests are than they look: on average, and at worst of late.
        self._pace: dict[UUID, float] = {}
        self._worst: dict[UUID, float] = {}

    def join(self, team_id: UUID) -> None:
        """A team that had nothing waiting has something now; its rest gives it no credit."""
        if len(self._used) > _MOST_KNOWN:
            self._forget()
        self._used[team_id] = max(self._used.get(team_id, 0.0), self._now)

    def first(self, teams: Iterable[UUID]) -> UUID:
        """The one of the teams that has used least; of equals the one named first."""
        team_id = min(teams, key=lambda each: self._used.get(each, self._now))
        self._now = max(self._now, self._used.get(team_id, self._now))
        return team_id

    def expected(self, team_id: UUID, size: int) -> float:
        """Seconds that a request of `size` bytes will take, as far as the team's last ones tell."""
        return min(self._pace.get(team_id, 1.0) * (_EACH_S + _BYTE_S * size), _MOST_S)

    def at_worst(self, team_id: UUID, size: int) -> float:
        """Seconds that it may take, if it is like the dearest that the team sent of late."""
        return self._worst.get(team_id, 1.0) * (_EACH_S + _BYTE_S * size)

    def charge(self, team_id: UUID, seconds: float) -> None:
        """The team is about to use so many seconds."""
        self._used[team_id] = self._used.get(team_id, self._now) + seconds

    def settle(self, team_id: UUID, size: int, charged: float, seconds: float) -> None:
        """A request of `size` bytes for which `charged` seconds were charged took so many."""
        seconds = min(seconds, _MOST_S)
        self.charge(team_id, seconds - charged)
        pace, found = self._pace.get(team_id, 1.0), seconds / (_EACH_S + _BYTE_S * size)
        self._pace[team_id] = pace + _LEARN * (found - pace)
        self._worst[team_id] = max(found, self._worst.get(team_id, 1.0) * (1 - _FORGET))

    def _forget(self) -> None:
        """Keep those that have used most; the others begin with everybody else."""
        used = sorted(self._used, key=lambda each: self._used[each])[-_MOST_KNOWN // 2 :]
        self._used = {each: self._used[each] for each in used}
        self._pace = {each: self._pace.get(each, 1.0) for each in used}
        self._worst = {each: self._worst.get(each, 1.0) for each in used}
