"""Comparables: that somebody holds runs comparable although some of their conditions differ, and why."""

from typing import ClassVar

from django.conf import settings
from django.db import models

MOST_CHARS = 1_000


class Comparable(models.Model):
    """It is of conditions and not of runs: whichever runs of the team differ in these values alone may be compared.

    `conditions` is a list of {name, label, values: [{key, text}]}: `key` is the digest of a run's value, `text` what
    people read. What is revoked stays on record.
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="comparables")
    conditions = models.JSONField()
    reason = models.TextField(max_length=MOST_CHARS)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField()
    revoked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["team", "-id"], name="comparable_newest")]
