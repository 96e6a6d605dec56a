"""What intervals are measured of a run: those that everybody's training has, and those that its team asked for."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Now

from ingest.detection import named_intervals
from ingest.detection.facts import History
from ingest.detection.named_intervals import USUAL, Event
from ingest.models import Interval, IntervalsDue, PhaseName, Round, Run

_EVENTS = """
SELECT n.name, w.index, e.round, e.time_ns
FROM unnest(%s::int8[], %s::int8[], %s::int8[]) AS r (index, begin_ns, end_ns)
JOIN ingest_event e ON e.run_id = %s AND e.round = r.index AND e.time_ns BETWEEN r.begin_ns AND r.end_ns
JOIN ingest_phasename n ON n.run_id = e.run_id AND n.index = e.name_index
JOIN ingest_worker w ON w.id = e.worker_id
WHERE n.name = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """All intervals of a run; `stamp` tells what its team asks for from what it asks at another time, "" of nothing."""

    intervals: tuple[named_intervals.Interval, ...]
    stamp: str

    @property
    def events(self) -> list[str]:
        """The names of the events that it takes to measure them."""
        return sorted({name for one in self.intervals for name in one.events})


def defined(run: Run) -> QuerySet[Interval]:
    """What the run's team asks for: of its project and of the run itself, by name, the run's own first."""
    own = Q(run=run) | Q(run=None, team_id=run.team_id, project=run.project)
    return Interval.objects.filter(own).order_by("name", "run__started_at", "pk")


def defined_one(run: Run, key: int) -> Interval | None:
    """One of them; None where the run has none of that key, however great it is."""
    return defined(run).filter(pk=key).first()


def asked(run: Run) -> Asked:
    """What is measured of the run. The run's own wins over its project's, and both over what is measured anyway."""
    rows = sorted(defined(run), key=lambda row: (row.name, row.run_id is None))
    own: dict[str, named_intervals.Interval] = {}
    for row in rows:
        own.setdefault(row.name, row.asked)
    usual = [one for one in USUAL if one.name not in own]
    text = repr(sorted((one.name, one.identity) for one in own.values()))
    stamp = sha256(text.encode()).hexdigest()[:16] if own else ""
    return Asked((*usual, *own.values()), stamp)


def events_of(run_id: UUID, rounds: Sequence[Round], names: Sequence[str]) -> tuple[Event, ...]:
    """The events of these names that happened in these rounds, while they lasted."""
    if not names or not rounds:
        return ()
    indexes, begins, ends = zip(*((one.index, one.begin_ns, one.end_ns) for one in rounds), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, [list(indexes), list(begins), list(ends), run_id, list(names)])
        return tuple(Event(*told) for told in cursor.fetchall())


def events_of_newest(run_id: UUID, indexes: Collection[int], names: Sequence[str]) -> tuple[Event, ...]:
    """The same of rounds by their index, each in its newest closed generation."""
    if not names:
        return ()
    rows = Round.objects.filter(run_id=run_id, index__in=list(indexes), closed=True).order_by("generation")
    return events_of(run_id, list({row.index: row for row in rows}.values()), names)


def looked_at(run: Run, history: History) -> tuple[tuple[Event, ...], tuple[named_intervals.Interval, ...]]:
    """The events by which intervals with a check are measured in a history, and these intervals."""
    checked = tuple(one for one in asked(run).intervals if one.most_s is not None)
    names = sorted({name for one in checked for name in one.events})
    rounds = {index for window in history.windows for index in window.rounds}
    return events_of_newest(run.pk, rounds, names), checked


def names_of(run: Run) -> list[str]:
    """The names of its phases and events, to choose boundaries from: no more than a run may have, the wire's limit."""
    rows = PhaseName.objects.filter(run=run).order_by("index").values_list("name", flat=True)
    return list(dict.fromkeys(rows))


def is_due(run_id: UUID) -> bool | None:
    """Whether the run's intervals are to be judged anew by now, or later since that has failed; None: they are."""
    by_now = ExpressionWrapper(Q(asked_at__lte=Now()), BooleanField())
    return IntervalsDue.objects.filter(pk=run_id).values_list(by_now, flat=True).first()


def runs_due(most: int) -> list[UUID]:
    """At most so many of the runs whose intervals are to be judged anew by now, those that wait longest first."""
    due = IntervalsDue.objects.filter(asked_at__lte=Now())
    return list(due.order_by("asked_at").values_list("run_id", flat=True)[:most])


def newest_rounds(run_id: UUID, count: int) -> list[Round]:
    """The last closed rounds in their newest generation, newest first, with their analyses."""
    rows = Round.objects.filter(run_id=run_id, closed=True).select_related("analysis").order_by("-index", "-generation")
    found: dict[int, Round] = {}
    for row in rows[: 2 * count]:
        found.setdefault(row.index, row)
    return list(found.values())[:count]
