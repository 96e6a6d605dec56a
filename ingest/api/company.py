"""Who else sends: a team that has the server to itself may use more of it at once than one that others send beside."""

from collections import OrderedDict
from uuid import UUID

# Shippers send several times a second; who has been silent for so long is not kept waiting by anybody.
_STAYS_S = 2.0


class Company:
    """Which teams have sent something of late; `now` is monotonic seconds. For one thread at a time."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._came: OrderedDict[UUID, float] = OrderedDict()  # the one who came last at the end

    def comes(self, team_id: UUID, now: float) -> None:
        """The team has sent something."""
        self._came[team_id] = now
        self._came.move_to_end(team_id)
        while now - next(iter(self._came.values())) > _STAYS_S:
            self._came.popitem(last=False)

    def beside(self, team_id: UUID, now: float) -> bool:
        """Whether another team than this one has come of late."""
        last = next((at for each, at in reversed(self._came.items()) if each != team_id), None)
        return last is not None and now - last <= _STAYS_S
