"""What the rounds before one that goes on say of it, remembered: an open phase is looked at many times."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from ingest.detection.slow_phase import Usual, usual
from ingest.detection.slow_phase.usual import NOTHING
from ingest.detection.windows import Past, first_of, windows
from ingest.models import Round
from ingest.queries import judging, judging_windows
from ingest.queries.judging_spans import begun_in, parts_of
from ingest.queries.judging_windows import Reach

_MOST_KEPT = 200


@dataclass(frozen=True, slots=True)
class Before:
    """`stamp` tells one look at these rounds from another; `past` are they, `older` says that there were others."""

    stamp: tuple[Any, ...]
    usual: Usual
    past: tuple[Past, ...]
    older: bool


_NONE = Before((), NOTHING, (), older=False)


@dataclass(slots=True)
class RoundsBefore:
    """Looks them up; whoever loses it makes it again."""

    _known: "OrderedDict[UUID, Before]" = field(default_factory=OrderedDict)

    def of(self, row: Round) -> Before:
        """What is known before the round; of short ones as of the last whole window before it."""
        looked = _reach(row)
        if looked is None:
            return _NONE
        stamp = (looked.size, *((one.id, one.version) for one in looked.rounds))
        known = self._known.pop(row.run_id, None)
        if known is None or known.stamp != stamp:
            known = _before(row.run_id, looked, stamp)
        self._known[row.run_id] = known
        while len(self._known) > _MOST_KEPT:
            self._known.popitem(last=False)
        return known

    def cold(self, row: Round, begun: dict[int, tuple[int, int]], now_ns: int) -> frozenset[int]:
        """The lanes that still warm up in the round; `begun` as in Past."""
        before = self.of(row)
        going_on = Past(index=row.index, begin_ns=row.begin_ns, end_ns=now_ns, begun=begun)
        return windows([*before.past, going_on], 1, older=before.older)[-1].cold


def _reach(row: Round) -> Reach | None:
    """The rounds before, in whole windows; None where there are none."""
    last = row.index - 1
    looked = judging_windows.reach(row.run_id, last)
    whole = first_of(row.index, looked.size) - 1
    if whole < last and whole >= 0:
        looked = judging_windows.reach(row.run_id, whole)
    return looked if looked.rounds else None


def _before(run_id: UUID, looked: Reach, stamp: tuple[Any, ...]) -> Before:
    with connection.cursor() as cursor:
        begun = begun_in(parts_of(cursor, [one.id for one in looked.rounds]))
    past = tuple(
        Past(index=one.index, begin_ns=one.begin_ns, end_ns=one.end_ns, begun=begun[one.id])
        for one in looked.rounds
        if one.end_ns is not None
    )
    older = Round.objects.filter(run_id=run_id, index__lt=looked.rounds[0].index).exists()
    return Before(stamp, usual(judging.history(run_id, looked)), past, older)
