"""Exports of runs: where each stands."""

from collections.abc import Collection
from uuid import UUID

from ingest.models import Export, Run
from ingest.queries.pages import Page, Place, page


def listed(run: Run, *, after: Place | None, limit: int) -> Page[Export]:
    """The run's exports, newest first."""
    rows = Export.objects.filter(run=run).select_related("asked_by").order_by("-made_at", "pk")
    if after is not None:
        made_at, key = after
        rows = rows.filter(made_at__lte=made_at).exclude(made_at=made_at, pk__lte=key)
    return page(list(rows[: limit + 1]), limit, lambda row: row, lambda row: (row.made_at, row.pk))


def one(run: Run, export_id: UUID) -> Export | None:
    """An export of this run."""
    return Export.objects.filter(run=run, pk=export_id).first()


def known(keys: Collection[UUID]) -> set[UUID]:
    """Those of the keys that are exports."""
    return set(Export.objects.filter(pk__in=keys).values_list("pk", flat=True))
