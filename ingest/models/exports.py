"""Exports: files made of a run for other programs, in slices that a killed worker does not lose."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models


class ExportState(models.TextChoices):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Export(models.Model):
    """One file of a run in one format; `cursor` is how far it has come, as dashboard.runs.exports writes and reads it.

    `records` counts what is in the file so far, `records_total` what was there when it began (null until then);
    `tries` counts slices that began since the last one that got on; whoever makes a slice holds it until `held_until`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="exports")
    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="exports")
    format = models.CharField(max_length=16)
    state = models.CharField(max_length=16, choices=ExportState, default=ExportState.WAITING)
    cursor = models.JSONField(null=True)
    records = models.BigIntegerField(default=0)
    records_total = models.BigIntegerField(null=True)
    file_bytes = models.BigIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    reason = models.CharField(max_length=256, blank=True, default="", help_text="Why its last slice failed.")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField()
    held_until = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["run", "-made_at"], name="export_of_run"),
            models.Index(fields=["made_at"], condition=models.Q(state__in=("waiting", "running")), name="export_going"),
        ]

    def __str__(self) -> str:
        return f"{self.format} of {self.run_id}"
