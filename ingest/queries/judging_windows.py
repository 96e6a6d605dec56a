"""Which windows of rounds a judgement is about: the one of a round, the newest of a run, and which of them are due."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from ingest.detection.windows import TYPICAL_OF, WARMUP_STEPS, first_of, size_of
from ingest.models import Round, Run

_WINDOWS = 20  # before the judged one
_LEAST_WINDOWS = 6
# Parts of rounds that one judgement looks back on: a thousand workers' history is shortened, not their service.
_MOST_PARTS = 60_000


@dataclass(frozen=True, slots=True)
class Passed:
    """A round in its newest generation; versions are as in Round."""

    id: int
    index: int
    begin_ns: int
    end_ns: int | None
    closed: bool
    version: int
    judged_version: int
    lasting_version: int

    @property
    def wall_s(self) -> float:
        """How long it lasted, in seconds; 0 while that is not known."""
        return ((self.end_ns or self.begin_ns) - self.begin_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Reach:
    """What a judgement looks back on: `count` windows of `size` rounds, among the closed `rounds` (oldest first)."""

    size: int
    count: int
    rounds: list[Passed]

    def versions(self, indexes: Collection[int] | None = None) -> dict[int, int]:
        """The version of the data that was there to be read, by Round.id: of rounds with these indices, or of all."""
        return {one.id: one.version for one in self.rounds if indexes is None or one.index in indexes}


@dataclass(frozen=True, slots=True)
class Due:
    """The window that ends with round `last`: to be judged by itself (`once`), for what lasts as of it, or both."""

    last: int
    once: bool
    lasting: bool
    reach: Reach


def due(run_id: UUID, index: int) -> list[Due]:
    """The complete windows that were not judged yet as their data is: that of round `index`, and the newest.

    A round in the middle of a window asks for nothing, and of those that wait for one window the first has it judged
    for all: a history of twenty windows is read once for each window and not for each of its rounds.
    """
    own, newest = window_of(run_id, index), newest_window(run_id)
    if own is not None and newest is not None:
        newest = max(own, newest)
    found = []
    for last in sorted({one for one in (own, newest) if one is not None}):
        if last != own and window_of(run_id, last) != last:
            continue
        looked = reach(run_id, last)
        members = [one for one in looked.rounds if one.index >= first_of(last, looked.size)]
        once = any(one.judged_version != one.version for one in members)
        lasting = last == newest and any(one.lasting_version != one.version for one in looked.rounds)
        if once or lasting:
            found.append(Due(last, once, lasting, looked))
    return found


def window_of(run_id: UUID, index: int) -> int | None:
    """The last round of the window that round `index` is judged in; None while that window is not complete."""
    size = _size(run_id, index)
    first = first_of(index, size)
    members = _passed(run_id, first + size - 1, size)
    if any(one.index >= first and not one.closed for one in members) or not members:
        return None
    return first + size - 1 if _reached(run_id, first + size - 1) else None


def newest_window(run_id: UUID) -> int | None:
    """The last round of the newest complete window of the run; None where there is none."""
    newest = Round.objects.filter(run_id=run_id, closed=True).order_by("-index").values_list("index", flat=True).first()
    if newest is None:
        return None
    whole = window_of(run_id, newest)
    if whole is not None:
        return whole
    before = first_of(newest, _size(run_id, newest)) - 1
    return before if before >= 0 else None


def reach(run_id: UUID, last: int) -> Reach:
    """What the judgement of the window that ends with round `last` looks back on; it never grows with the run."""
    size = _size(run_id, last)
    parts = max(1, _parts_of(run_id, last))
    count = 1 + max(_LEAST_WINDOWS, min(_WINDOWS, _MOST_PARTS // (parts * size)))
    warmup = max(WARMUP_STEPS, size) if size > 1 else 1
    return Reach(size, count, [one for one in _passed(run_id, last, count * size + warmup) if one.closed])


def whole(run_id: UUID) -> tuple[Run, Reach] | None:
    """A run and what the judgement of its newest complete window looks back on; None where it has none."""
    run, newest = Run.objects.filter(pk=run_id).first(), newest_window(run_id)
    return None if run is None or newest is None else (run, reach(run_id, newest))


def first_rounds(run_id: UUID, count: int) -> list[Passed]:
    """The closed ones of the run's first `count` rounds, oldest first."""
    first = Round.objects.filter(run_id=run_id).order_by("index").values_list("index", flat=True).first()
    upto = -1 if first is None else first_of(first, count) + count - 1
    return [one for one in _passed(run_id, upto, count) if one.closed]


def _size(run_id: UUID, upto: int) -> int:
    return size_of([one.wall_s for one in _passed(run_id, upto, TYPICAL_OF)])


def _passed(run_id: UUID, upto: int, count: int) -> list[Passed]:
    """The newest generation of the `count` last rounds up to `upto`, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT ON (index) id, index, begin_ns, end_ns, closed,
                      data_version, judged_version, lasting_version
               FROM ingest_round WHERE run_id = %s AND index <= %s
               ORDER BY index DESC, generation DESC LIMIT %s""",
            [run_id, upto, count],
        )
        return [Passed(*row) for row in reversed(cursor.fetchall())]


def _reached(run_id: UUID, index: int) -> bool:
    return Round.objects.filter(run_id=run_id, index__gte=index, closed=True).exists()


def _parts_of(run_id: UUID, index: int) -> int:
    newest = Round.objects.filter(run_id=run_id, index=index).order_by("-generation").first()
    return newest.parts.count() if newest else 0
