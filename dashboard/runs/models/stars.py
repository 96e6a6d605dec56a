"""Stars: runs that one person wants to find again."""

from typing import ClassVar

from django.conf import settings
from django.db import models


class Star(models.Model):
    """Without a constraint on the run: ingest deletes runs and knows no pages. One of a run that is gone is unseen."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="stars")
    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="stars", db_constraint=False)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "run"], name="star")]
