"""Rounds of a run with their figures, as scripts read them."""

from django.db.models import Q

from ingest.models import Round, Run
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
