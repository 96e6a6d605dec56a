"""Saved views: addresses of the list of runs under a name, for a whole team."""

from typing import ClassVar

from django.conf import settings
from django.db import models

MOST_CHARS = 2_000
MOST_OF_A_TEAM = 100


class SavedView(models.Model):
    """`query` is what stands behind the question mark, as the list itself writes it.

    `made_by` and owners may delete it.
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=64)
    query = models.CharField(max_length=MOST_CHARS, blank=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "name"], name="saved_view_name")]

    def __str__(self) -> str:
        return self.name
