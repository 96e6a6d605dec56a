"""Conditions: the hardware and software facts that one attempt found where it began."""

from django.db import models


class Conditions(models.Model):
    """Of one attempt, as it said them. A table of its own: a stream's row is written each second, and this once."""

    stream = models.OneToOneField("ingest.Stream", models.CASCADE, primary_key=True, related_name="conditions")
    facts = models.JSONField(default=dict)
