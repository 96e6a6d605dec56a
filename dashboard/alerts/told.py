"""What messages say, for those who make them, keep them and send them; it knows nothing of where findings come from."""

from django.db import models


class Told(models.TextChoices):
    """What a message says: what the outbox says happened, by the same words, or what is told beyond that."""

    OPENED = "opened"
    RESOLVED = "resolved"
    WITHDRAWN = "withdrawn"
    ESCALATED = "escalated"
    SUMMARY = "summary"
    TEST = "test"


BEGINNINGS = (Told.OPENED, Told.ESCALATED)  # who hears one of these hears of the end
