"""Findings of a run or of whole teams, as scripts read them."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from ingest.models import Finding
from ingest.queries.pages import Page, Place, page


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which findings; None asks nothing. Opened in [begin, end)."""

    run: UUID | None = None
    state: str | None = None
    kind: str | None = None
    begin: dt.datetime | None = None
    end: dt.datetime | None = None


def listed(teams: Collection[UUID], wanted: Wanted, *, after: Place | None, limit: int) -> Page[Finding]:
    """The findings of these teams, newest first."""
    rows = Finding.objects.filter(run__team__in=teams)
    for name, value in (
        ("run", wanted.run), ("state", wanted.state), ("kind", wanted.kind), ("opened_at__gte", wanted.begin),
        ("opened_at__lt", wanted.end),
    ):  # fmt: skip
        if value is not None:
            rows = rows.filter(**{name: value})
    if after is not None:
        opened_at, key = after
        rows = rows.filter(Q(opened_at__lt=opened_at) | Q(opened_at=opened_at, pk__gt=key))
    found = list(rows.order_by("-opened_at", "pk")[: limit + 1])
    return page(found, limit, lambda row: row, lambda row: (row.opened_at, row.pk))
