"""The outbox between finding and telling: what happened to a finding, written in the transaction that changed it."""

from typing import ClassVar

from django.db import models


class Happened(models.TextChoices):
    """`withdrawn` is said of a finding that later records no longer show."""

    OPENED = "opened"
    RESOLVED = "resolved"
    WITHDRAWN = "withdrawn"


class Outbox(models.Model):
    """Something that people may have to be told of.

    `due_at` is when there is something to do for it, and null when all is done: whoever works on it moves it on first,
    so that what dies with a worker is due again. It is `made_at` until somebody has taken it up, and later from then
    on. The database deletes it with its finding.
    """

    finding = models.ForeignKey("ingest.Finding", models.CASCADE, related_name="outbox", db_constraint=False)
    happened = models.CharField(max_length=16, choices=Happened)
    made_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=models.Q(due_at__isnull=False), name="outbox_due")
        ]
