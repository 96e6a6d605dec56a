"""Findings: what detection says, with its evidence and its life."""

import uuid
from typing import ClassVar

from django.db import models


class FindingState(models.TextChoices):
    OPEN = "open"
    RESOLVED = "resolved"


class Severity(models.TextChoices):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Finding(models.Model):
    """One incident per `fingerprint` and run; `observed` was measured, `hypothesis` explains it.

    `spans` lists the phases it marks, as [stream index, start number, lane index, round].
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="findings")
    kind = models.CharField(max_length=32)
    fingerprint = models.CharField(max_length=128)
    state = models.CharField(max_length=16, choices=FindingState, default=FindingState.OPEN)
    severity = models.CharField(max_length=16, choices=Severity, default=Severity.WARNING)
    observed = models.TextField()
    hypothesis = models.TextField(blank=True, default="")
    phase = models.CharField(max_length=128, blank=True, default="")
    workers = models.JSONField(default=list)
    rounds = models.JSONField(default=list)
    spans = models.JSONField(default=list)
    evidence = models.JSONField(default=dict)
    opened_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=0, help_text="Compare-and-swap: grows with every change.")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["run", "fingerprint"], name="finding_fingerprint")]
        indexes: ClassVar = [
            models.Index(fields=["run", "state", "-opened_at"], name="finding_of_run"),
            models.Index(fields=["run"], condition=models.Q(state="open"), name="finding_open"),
        ]
