"""Rounds of a run with their figures, as scripts read them and as viewers are told of them."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from ingest.models import Round, Run
from ingest.models.rounds import newest_generations
from ingest.queries.pages import Page, Place, page


def listed(run: Run, *, begin_ns: int | None, end_ns: int | None, after: Place | None, limit: int) -> Page[Round]:
    """The run's rounds that began in [begin_ns, end_ns), all generations, by index and generation."""
    rows = Round.objects.filter(run=run)
    if begin_ns is not None:
        rows = rows.filter(begin_ns__gte=begin_ns)
    if end_ns is not None:
        rows = rows.filter(begin_ns__lt=end_ns)
    if after is not None:
        index, generation = after
        rows = rows.filter(Q(index__gt=index) | Q(index=index, generation__gt=generation))
    found = list(rows.order_by("index", "generation")[: limit + 1])
    return page(found, limit, lambda row: row, lambda row: (row.index, row.generation))


def one(run: Run, index: int, generation: int | None) -> Round | None:
    """The round in this generation, or in its newest."""
    rows = Round.objects.filter(run=run, index=index).order_by("-generation")
    return (rows if generation is None else rows.filter(generation=generation)).first()


@dataclass(frozen=True, slots=True)
class Steps:
    """Rounds of one run to tell viewers of; `newest` maps the index of each to its newest generation."""

    rows: list[Round]
    newest: dict[int, int]


def steps(run_id: UUID, ids: Collection[int]) -> Steps:
    """Those of the rounds that are still there."""
    rows = list(Round.objects.filter(pk__in=ids))
    return Steps(rows, newest_generations(run_id, [row.index for row in rows]))


def runs_with_open() -> list[UUID]:
    """The runs that have rounds which are not closed."""
    return list(Round.objects.filter(closed=False).values_list("run_id", flat=True).distinct())
