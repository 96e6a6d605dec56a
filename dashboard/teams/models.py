"""People, teams, who belongs to which, links that sign a person in or invite one, and who did what."""

import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac


class User(AbstractUser):
    """A person. Signs in by name or e-mail address with a password, by a link, or by single sign-on."""

    sessions_ended = models.PositiveIntegerField(default=0, help_text="How often all sessions were ended.")

    class Meta(AbstractUser.Meta):
        abstract = False
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("email"), condition=~models.Q(email=""), name="user_email"),
        ]

    def get_session_auth_hash(self) -> str:
        """What a session must know to be this person's: another one whenever all are ended."""
        usual = super().get_session_auth_hash()
        if not self.sessions_ended:
            return usual
        return salted_hmac("roundwatch.sessions", f"{self.sessions_ended}:{usual}", algorithm="sha256").hexdigest()


class Team(models.Model):
    """Owner of runs, members, tokens, rules and alerts.

    Retention is in days; null means the installation's default, for `summary_days` that runs are kept. Two teams may
    have one name: who was refused a name would know that another team has it. `slug` stays when the name changes.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=128)
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
    joined_at = models.DateTimeField(null=True, default=timezone.now, help_text="Null: before this was kept.")

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


class Invitation(models.Model):
    """A link with which one person joins a team in a role; only the SHA-256 of its secret is kept.

    It ends when it is used, revoked or expired.
    """

    team = models.ForeignKey(Team, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=16, choices=Role, default=Role.MEMBER)
    email = models.EmailField(blank=True, help_text="Whom it was meant for; who has the link may use it.")
    digest = models.BinaryField(unique=True, max_length=32)
    made_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return f"invitation to {self.team} ({self.role})"


class Area(models.TextChoices):
    """What a thing that somebody did is about."""

    SIGN_IN = "sign-in"
    ACCOUNT = "account"
    TEAM = "team"
    MEMBER = "member"
    INVITATION = "invitation"
    TOKEN = "token"  # noqa: S105 - no password
    RUN = "run"
    DATA = "data"
    THRESHOLD = "threshold"
    INTERVAL = "interval"
    COMPARABLE = "comparable"
    INVESTIGATION = "investigation"
    RULE = "rule"
    CHANNEL = "channel"
    ALERT = "alert"


class AuditRecord(models.Model):
    """Who did what, when and from where. Postgres refuses to change or delete one (migration 0002).

    It refers to nothing, so that it outlives the person, the token and the team; `team` is the id of one, null for
    what somebody without a team did.
    """

    team = models.UUIDField(null=True)
    at = models.DateTimeField(default=timezone.now)
    who = models.CharField(max_length=200)
    area = models.CharField(max_length=16, help_text="An Area.")
    did = models.CharField(max_length=500)
    address = models.GenericIPAddressField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["team", "-id"], name="audit_newest")]

    def __str__(self) -> str:
        return f"{self.who} {self.did}"
