"""Rules and channels of a team, its alerts, and every try to tell somebody of one."""

import secrets
import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models

from dashboard.alerts.told import Told
from ingest.detection import finding_kinds

SECRET_BYTES = 32


class AlertState(models.TextChoices):
    """Open ones want somebody; who acknowledges one looks after it; of a silenced one nothing more is told."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    SILENCED = "silenced"
    RESOLVED = "resolved"


class DeliveryState(models.TextChoices):
    """`failed` has been given up after a day of tries; `held` waits for its time.

    What was held may not be needed any more (`dropped`), or be told in one message with others (`summarised`).
    """

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    HELD = "held"
    DROPPED = "dropped"
    SUMMARISED = "summarised"


class Held(models.TextChoices):
    """What a held message waits for: the end of quiet hours, or that nobody acknowledges its alert in time."""

    QUIET = "quiet"
    UNACKNOWLEDGED = "unacknowledged"


class Setup(models.Model):
    """That a team was given the default rules, once: those that it deletes do not come back."""

    team = models.OneToOneField("teams.Team", models.CASCADE, primary_key=True, related_name="alert_setup")
    made_at = models.DateTimeField(auto_now_add=True)


def new_secret() -> str:
    """The text with which a channel signs what it sends: 256 random bits."""
    return "rws_" + secrets.token_urlsafe(SECRET_BYTES)


class Channel(models.Model):
    """One way to tell a team's people. `settings` are those of its way (dashboard.alerts.channels).

    From `quiet_from` to `quiet_to` by the clocks of `quiet_zone` it is told nothing, but of what somebody is to be
    woken for where `quiet_pages`; null for no quiet hours.
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="channels")
    name = models.CharField(max_length=128)
    way = models.CharField(max_length=16)
    settings = models.JSONField(default=dict)
    secret = models.CharField(max_length=64, default=new_secret)
    pages_only = models.BooleanField(default=False, help_text="Used only where somebody is to be woken.")
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_to = models.TimeField(null=True, blank=True)
    quiet_zone = models.CharField(max_length=64, default="UTC")
    quiet_pages = models.BooleanField(default=True, help_text="Whether what wakes somebody is told all the same.")
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Rule(models.Model):
    """Which findings become alerts. An empty list asks nothing; no channel means every channel of the team.

    What nobody acknowledges within `escalate_after` minutes is told to `escalate_to`, too; null for never.
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="rules")
    name = models.CharField(max_length=128)
    enabled = models.BooleanField(default=True)
    pages = models.BooleanField(default=False, help_text="Whether somebody is to be woken.")
    kinds = models.JSONField(default=list)
    severities = models.JSONField(default=list)
    phases = models.JSONField(default=list)
    projects = models.JSONField(default=list)
    tags = models.JSONField(default=list)
    channels = models.ManyToManyField(Channel, related_name="rules", blank=True)
    escalate_after = models.PositiveSmallIntegerField(null=True, blank=True)
    escalate_to = models.ManyToManyField(Channel, related_name="escalations", blank=True)

    def __str__(self) -> str:
        return self.name

    @property
    def kind_names(self) -> list[str]:
        """What its kinds are called."""
        return [finding_kinds.name(kind) for kind in self.kinds]


class Alert(models.Model):
    """An incident that a rule wants told: one for each run, kind and phase, whatever findings come and go in it.

    `finding` is the newest of them; `times` counts how often it opened.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="alerts")
    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="alerts", db_constraint=False)
    finding = models.ForeignKey("ingest.Finding", models.CASCADE, related_name="alerts", db_constraint=False)
    kind = models.CharField(max_length=32)
    phase = models.CharField(max_length=128, blank=True, default="")
    state = models.CharField(max_length=16, choices=AlertState, default=AlertState.OPEN)
    pages = models.BooleanField(default=False)
    times = models.PositiveIntegerField(default=1)
    opened_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True, help_text="When people were last to be told that it opened.")
    begun_at = models.DateTimeField(
        null=True, help_text="When it last came to want somebody: escalation counts from it."
    )
    silenced_until = models.DateTimeField(null=True)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["run", "kind", "phase"], name="alert_incident")]
        indexes: ClassVar = [models.Index(fields=["team", "-opened_at", "id"], name="alert_newest")]


class Delivery(models.Model):
    """One message through one channel. `key` is the same for all tries, so that a receiver may drop the second.

    `content` is what is told (dashboard.alerts.message); `alert` is null for a test. `claimed_until` is set by
    whoever tries it now: once it is past, its worker is gone and another may. `held` says what a held one waits for,
    until `next_try_at`.
    """

    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    channel = models.ForeignKey(Channel, models.CASCADE, related_name="deliveries")
    alert = models.ForeignKey(Alert, models.CASCADE, null=True, related_name="deliveries", db_constraint=False)
    outbox = models.ForeignKey("ingest.Outbox", models.CASCADE, null=True, related_name="+", db_constraint=False)
    happened = models.CharField(max_length=16, choices=Told)
    content = models.JSONField()
    state = models.CharField(max_length=16, choices=DeliveryState, default=DeliveryState.WAITING)
    held = models.CharField(max_length=16, choices=Held, blank=True, default="")
    made_at = models.DateTimeField()
    next_try_at = models.DateTimeField(null=True)
    claimed_until = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["outbox", "channel"], name="delivery_once")]
        indexes: ClassVar = [
            models.Index(fields=["next_try_at"], condition=models.Q(state="waiting"), name="delivery_waiting"),
            models.Index(fields=["next_try_at"], condition=models.Q(state="held"), name="delivery_held"),
            models.Index(fields=["made_at"], name="delivery_age"),
        ]


class Try(models.Model):
    """One try of a delivery; without an end its worker died in the middle, or is at it."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="tries", db_constraint=False)
    begun_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    delivered = models.BooleanField(default=False)
    answer = models.TextField(blank=True, default="", help_text="What came of it, in words.")
