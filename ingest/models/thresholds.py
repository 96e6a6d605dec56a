"""Thresholds of detection that a team has set, for all its runs or for one: each change a row, the newest counts."""

from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.db import models


class ThresholdChange(models.Model):
    """Somebody set a threshold; `value` is in its unit, null where the default (or the team's) counts again.

    `run` is null for the team's own. `key` is one of ingest.detection.thresholds.
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="threshold_changes")
    run = models.ForeignKey("ingest.Run", models.CASCADE, null=True, related_name="threshold_changes")
    key = models.CharField(max_length=64)
    value = models.FloatField(null=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["team", "run", "key", "-id"], name="threshold_newest")]


def newest_changes(rows: models.QuerySet[ThresholdChange]) -> models.QuerySet[ThresholdChange]:
    """Of these the newest of each threshold, for the team and for each run."""
    return rows.order_by("run", "key", "-id").distinct("run", "key")


def set_for(team: UUID, run: UUID | None) -> dict[str, float]:
    """What is set for a team, or for one of its runs alone: values in their units, by key."""
    rows = newest_changes(ThresholdChange.objects.filter(team=team, run=run)).values_list("key", "value")
    return {key: value for key, value in rows if value is not None}
