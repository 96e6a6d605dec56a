"""Lists of runs in an order, page by page: a place is where a page ended, so that no list is counted through."""

import base64
import datetime as dt
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection, transaction
from django.db.models import BooleanField, F, Func, Q, QuerySet

from ingest.models import Run

# So many runs are looked at one by one in some milliseconds.
_NEXT = 3_000
_WAYS = ("enable_bitmapscan", "enable_seqscan", "enable_hashjoin", "enable_mergejoin")
_BY_INDEX_ALONE, _BY_ANY_WAY = (
    "SELECT " + ", ".join(f"set_config('{way}', '{switch}', true)" for way in _WAYS) for switch in ("off", "on")
)
_TRUTH = BooleanField()
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_NAMES = {
    "name": "name", "started": "started_at", "gpus": "trainers", "round": "standing__rounds",
    "duration": "standing__duration_s", "gpu_hours": "standing__gpu_hours", "throughput": "standing__items_per_s",
    "round_time": "standing__round_s", "waiting": "standing__waiting_share",
    "longest": "standing__longest_wait_share", "findings": "standing__open_findings",
}  # fmt: skip
SORTED_BY = tuple(_NAMES)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Part of a list: those runs of it that `which` keeps, by `field`; ties by id, the other way when ascending."""

    which: Q
    field: str
    descending: bool = True
    last: bool = False  # of what is left over: who gets there has seen all that match before, which are few then

    def order(self) -> tuple[str, str]:
        return (f"-{self.field}", "pk") if self.descending else (self.field, "-pk")

    def after(self, value: Any, key: UUID) -> Q:
        """What follows; the first condition is the one that an index answers."""
        near, far, rest = ("lte", "lt", "gt") if self.descending else ("gte", "gt", "lt")
        beyond = Q(**{f"{self.field}__{far}": value}) | Q(**{f"pk__{rest}": key})
        return Q(**{f"{self.field}__{near}": value}) & beyond


_NEWEST = "started_at"
# What goes on first, then what has ended; both newest first.
_ACTIVE_FIRST = (_Stretch(Q(ended_at=None), _NEWEST), _Stretch(Q(ended_at__isnull=False), _NEWEST))


def stretches(sort: str, team_id: UUID) -> Sequence[_Stretch]:
    """The parts of the list: by one of SORTED_BY, with "-" before it descending; runs without such a figure come last.

    Anything else is what goes on first, and newest first.
    """
    field = _NAMES.get(sort.removeprefix("-"))
    descending = sort.startswith("-")
    if field is None:
        return _ACTIVE_FIRST
    if not field.startswith("standing__"):
        return (_Stretch(Q(), field, descending),)
    # The team is said again, since indexes of figures begin with it.
    known = Q(**{f"{field}__isnull": False, "standing__team_id": team_id})
    return (_Stretch(known, field, descending), _Stretch(Q(**{f"{field}__isnull": True}), _NEWEST, last=True))


def page(
    runs: QuerySet[Run], parts: Sequence[_Stretch], after: str, limit: int, *, among: QuerySet[Run] | None = None
) -> tuple[list[Run], str | None]:
    """Up to `limit` runs behind the place `after`, "" for the beginning; and where they end, None at the list's end.

    With `among`, all that `runs` were taken from, those are first looked for among the next of these: what many runs
    match is found there, while Postgres, which often takes it for rare, would first look up every run that matches.

    Raises ValueError for a place that is none.
    """
    number, behind = _place(parts, after) if after else (0, Q())
    found: list[tuple[int, Run]] = []
    while number < len(parts) and len(found) <= limit:
        part, most = parts[number], limit + 1 - len(found)
        near, whole = ([], False) if among is None or part.last else _walked(runs, part, behind, among, most)
        if len(near) < most and not whole:
            near = list(runs.filter(part.which).filter(behind).order_by(*part.order())[:most])
        found += [(number, run) for run in near]
        number, behind = number + 1, Q()
    if len(found) <= limit:
        return [run for _, run in found], None
    shown = found[:limit]
    number, last = shown[-1]
    return [run for _, run in shown], _cursor(number, _value(last, parts[number].field), last.pk)


def _walked(runs: QuerySet[Run], part: _Stretch, behind: Q, among: QuerySet[Run], most: int) -> tuple[list[Run], bool]:
    """The first `most` of those runs that are within the next _NEXT of all, in order; and whether these are all."""
    following = among.filter(part.which).filter(behind).order_by(*part.order()).values("pk")[:_NEXT]
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_BY_INDEX_ALONE)
        # Of an array Postgres cannot but look up each element; of a subquery it may instead compare all runs with all.
        found = list(runs.filter(_one_of(following), part.which).order_by(*part.order())[:most])
        with connection.cursor() as cursor:
            cursor.execute(_BY_ANY_WAY)
        # Where figures are joined it costs as much to count as to look up all that match, of few runs less.
        joined = part.field.startswith("standing__")
        return found, len(found) < most and not joined and following.count() < _NEXT


def _one_of(keys: QuerySet[Run, Any]) -> Func:
    return Func(F("pk"), ArraySubquery(keys), template="%(expressions)s)", arg_joiner=" = ANY (", output_field=_TRUTH)


def _value(run: Run, field: str) -> Any:
    value: Any = run
    for name in field.split("__"):
        value = getattr(value, name)
    return value


def _cursor(number: int, value: Any, key: UUID) -> str:
    told = (value - _EPOCH) // _MICROSECOND if isinstance(value, dt.datetime) else value
    return base64.urlsafe_b64encode(json.dumps([number, told, key.hex]).encode()).decode().rstrip("=")


def _place(parts: Sequence[_Stretch], cursor: str) -> tuple[int, Q]:
    try:
        number, told, key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        part = dict(enumerate(parts))[number]
        return number, part.after(_told(part.field, told), UUID(key))
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ValueError("no such page") from None


def _told(field: str, told: Any) -> Any:
    """A value as the field has it; raises ValueError or TypeError for one that it cannot have."""
    if field == _NEWEST:
        return _EPOCH + int(told) * _MICROSECOND
    if field == "name":
        if not isinstance(told, str) or "\0" in told or any("\ud800" <= letter <= "\udfff" for letter in told):
            raise ValueError("no such page")
        return told
    if isinstance(told, bool) or not isinstance(told, int | float) or not math.isfinite(told) or abs(told) > 1 << 31:
        raise ValueError("no such page")
    return told
