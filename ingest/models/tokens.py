"""Tokens: what agents and scripts show instead of a session; only their hash is kept."""

from django.conf import settings
from django.db import models


class Token(models.Model):
    """`digest` is the SHA-256 of 256 random bits; the team comes only from here.

    `prefix` is shown to tell them apart.
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=128, default="token")
    prefix = models.CharField(max_length=16)
    digest = models.BinaryField(unique=True, max_length=32)
    scopes = models.JSONField(default=list, help_text="Of ingest, read, admin.")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    last_used_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
