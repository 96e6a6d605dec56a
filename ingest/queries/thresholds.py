"""The thresholds by which a run is judged, as its team has set them, and who changed them when."""

import datetime as dt
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import F, Q, Window
from django.db.models.functions import Lag

from ingest.detection import thresholds
from ingest.detection.thresholds import BY_KEY, Threshold, Thresholds
from ingest.models import ThresholdChange
from ingest.models.thresholds import newest_changes, set_for
from ingest.queries import run_words

__all__ = ["MOST_TOLD", "Change", "changes", "of_run", "set_for"]

MOST_TOLD = 50


@dataclass(frozen=True, slots=True)
class Change:
    """Somebody changed a threshold; None where nothing was or is set. Who is gone has no name."""

    threshold: Threshold
    before: float | None
    after: float | None
    by: str
    at: dt.datetime


def of_run(run_id: UUID) -> Thresholds:
    """The policies that the run is judged by now."""
    rows = ThresholdChange.objects.filter(Q(run=None) | Q(run=run_id), team__runs=run_id)
    found: dict[UUID | None, dict[str, float]] = {None: {}, run_id: {}}
    for of, key, value in newest_changes(rows).values_list("run_id", "key", "value"):
        if value is not None:
            found[of][key] = value
    known = thresholds.of(found[None], found[run_id])
    return replace(known, words=run_words.of_run(run_id)) if known.set_ else known


def changes(team: UUID, run: UUID | None) -> list[Change]:
    """The newest changes for a team, or for one of its runs alone, newest first."""
    before = Window(Lag("value"), partition_by=[F("key")], order_by="id")
    rows = ThresholdChange.objects.filter(team=team, run=run, key__in=BY_KEY).annotate(before=before)
    told = rows.order_by("-id").values_list("key", "before", "value", "changed_by__username", "changed_at")
    return [Change(BY_KEY[key], was, after, by or "", at) for key, was, after, by, at in told[:MOST_TOLD]]
