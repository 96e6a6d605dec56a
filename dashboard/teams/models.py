"""People, teams, who belongs to which, and links that sign a person in once."""

import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower


class User(AbstractUser):
    """A person. Signs in by name or e-mail address with a password, or by a link."""

    class Meta(AbstractUser.Meta):
        abstract = False
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("email"), condition=~models.Q(email=""), name="user_email"),
        ]


class Team(models.Model):
    """Owner of runs, members, tokens, rules and alerts.

    Retention is in days; null means the installation's default, for `summary_days` that runs are kept.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=128, unique=True)
    slug = models.SlugField(max_length=128, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    phase_days = models.PositiveIntegerField(null=True)
    sample_days = models.PositiveIntegerField(null=True)
    summary_days = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do: owners manage the team, members its runs and tokens, viewers look."""

    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"


class Membership(models.Model):
    """A person's place in a team."""

    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role, default=Role.MEMBER)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "user"], name="membership")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} ({self.role})"


class LoginLink(models.Model):
    """A link that signs its user in once before it expires; only the SHA-256 of its secret is kept."""

    user = models.ForeignKey(User, models.CASCADE, related_name="login_links")
    digest = models.BinaryField(unique=True, max_length=32)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"login link of {self.user}"
