"""Runs that people say are one training, seen from its sites: those that found no common id record a run each."""

from typing import ClassVar

from django.conf import settings
from django.db import models


class JoinedRun(models.Model):
    """A run in a group of them; runs of one `group` belong together, each to one group at most.

    Without a constraint on the run: ingest deletes runs and knows no pages. A group of one shows nowhere.
    """

    run = models.OneToOneField(
        "ingest.Run", models.CASCADE, primary_key=True, db_constraint=False, related_name="joined"
    )
    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="+")
    group = models.UUIDField()
    joined_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["team", "group"], name="joined_run_group")]
