"""Rounds of a run with their figures, as scripts read them and as viewers are told of them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, prefetch_related_objects

from ingest.models import Round, Run
from ingest.models.rounds import newest_generations
from ingest.queries.pages import Page, Place, page

# Characters of analyses on one page: a page of rounds with long paths ends early.
_MOST_PAGE_CHARS = 4 << 20
_FITS = """
SELECT count(*) FROM (
    SELECT sum(size) OVER (ORDER BY index, generation) - size AS before FROM (
        SELECT r.index, r.generation, coalesce(length(a.content::text), 0) AS size
        FROM ingest_round r LEFT JOIN ingest_analysis a ON a.round_id = r.id WHERE r.id = ANY(%s)) AS sized) AS summed
WHERE before < %s
"""


def listed(run: Run, *, begin_ns: int | None, end_ns: int | None, after: Place | None, limit: int) -> Page[Round]:
    """The run's rounds that began in [begin_ns, end_ns), all generations, by index and generation, with analyses."""
    rows = Round.objects.filter(run=run)
    if begin_ns is not None:
        rows = rows.filter(begin_ns__gte=begin_ns)
    if end_ns is not None:
        rows = rows.filter(begin_ns__lt=end_ns)
    if after is not None:
        index, generation = after
        rows = rows.filter(Q(index__gt=index) | Q(index=index, generation__gt=generation))
    found = list(rows.order_by("index", "generation")[: limit + 1])
    with connection.cursor() as cursor:
        cursor.execute(_FITS, [[row.pk for row in found], _MOST_PAGE_CHARS])
        limit = min(limit, *cursor.fetchone())
    prefetch_related_objects(found[:limit], "analysis")
    return page(found, limit, lambda row: row, lambda row: (row.index, row.generation))


def analysis_of(row: Round) -> dict[str, Any] | None:
    """What was concluded of the round by itself (as round_analysis.told tells it), if its data is still that."""
    found = getattr(row, "analysis", None)
    return found.content if found is not None and row.closed and found.version == row.data_version else None


def asked_analysis_of(row: Round, stamp: str) -> dict[str, Any] | None:
    """The same, if its intervals are still those that are asked for (intervals.Asked.stamp)."""
    found = analysis_of(row)
    return found if found is not None and found.get("asked", "") == stamp else None


def one(run: Run, index: int, generation: int | None) -> Round | None:
    """The round in this generation, or in its newest."""
    rows = Round.objects.filter(run=run, index=index).select_related("analysis").order_by("-generation")
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
