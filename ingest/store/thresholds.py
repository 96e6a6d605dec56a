"""Sets thresholds of a team or of one of its runs; what was set before stays on record."""

from collections.abc import Mapping
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from ingest.detection.thresholds import BY_KEY
from ingest.models import Run, ThresholdChange
from ingest.models.thresholds import set_for
from ingest.store.locks import Lock, hold


@transaction.atomic
def change(team: UUID, run: Run | None, wanted: Mapping[str, float | None], by: int | None) -> list[str]:
    """Set thresholds by key, in their units (None: no longer), for the team or a run of it; returns what changed.

    Judgements that begin from now on use them. Raises ValueError for an unknown key or a value beyond its bounds.
    """
    for key, value in wanted.items():
        if key not in BY_KEY or (value is not None and not BY_KEY[key].allows(value)):
            raise ValueError(f"{key[:64]} cannot be {value}")
    hold(Lock.THRESHOLDS, team)
    own = set_for(team, None if run is None else run.pk)
    now = timezone.now()
    changed = [key for key, value in wanted.items() if own.get(key) != value]
    ThresholdChange.objects.bulk_create(
        ThresholdChange(team_id=team, run=run, key=key, value=wanted[key], changed_by_id=by, changed_at=now)
        for key in changed
    )
    return changed
