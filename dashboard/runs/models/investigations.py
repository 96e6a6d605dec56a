"""Investigations: what was found, what was changed about it, and whether later runs pass the check it should pass."""

from typing import ClassVar

from django.conf import settings
from django.db import models

MOST_CHARS = 4_000


class State(models.TextChoices):
    """People say it; what the runs say stands beside it."""

    OPEN = "open"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"


class Check(models.TextChoices):
    """What a later run should pass."""

    INTERVAL = "interval", "the check of an interval passes"
    ABSENT = "absent", "the finding does not come again"
    METRIC = "metric", "a figure stays within a bound"


class Metric(models.TextChoices):
    """Figures that can be bounded: medians over a run's last rounds."""

    ROUND_S = "round_s", "round time (s)"
    WAITING = "waiting", "GPU waiting (% of the round)"
    COMM = "comm", "comm share (% of the round)"
    EXPOSED = "exposed", "exposed share (% of the round)"


class Bound(models.TextChoices):
    """Which side of `bound` passes."""

    MOST = "most", "at most"
    LEAST = "least", "at least"


class Investigation(models.Model):
    """The finding is told in its own words, which stay when its run is deleted; `run` and `finding` may be gone.

    `kind` and `phase` are those of the finding. `interval` names the interval whose check counts; `metric` and `bound`
    the figure and its bound, in its unit. Runs of `project` with the tag `tag` that started later join by themselves
    ("" for none). `conclusion` is what people make of it.
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="investigations")
    project = models.CharField(max_length=128)
    title = models.CharField(max_length=160)
    # Runs are deleted row by row, by statements that know nothing of this table.
    run = models.ForeignKey("ingest.Run", models.SET_NULL, null=True, related_name="+", db_constraint=False)
    finding = models.ForeignKey("ingest.Finding", models.SET_NULL, null=True, related_name="+", db_constraint=False)
    kind = models.CharField(max_length=32, blank=True, default="")
    phase = models.CharField(max_length=128, blank=True, default="")
    observed = models.TextField(blank=True, default="")
    since = models.DateTimeField(help_text="Runs that started after it are later ones.")
    change = models.TextField(max_length=MOST_CHARS)
    check_by = models.CharField(max_length=16, choices=Check, default=Check.ABSENT)
    interval = models.CharField(max_length=64, blank=True, default="")
    metric = models.CharField(max_length=16, choices=Metric, blank=True, default="")
    side = models.CharField(max_length=8, choices=Bound, default=Bound.MOST)
    bound = models.FloatField(null=True, blank=True)
    tag = models.CharField(max_length=64, blank=True, default="")
    state = models.CharField(max_length=16, choices=State, default=State.OPEN)
    conclusion = models.TextField(max_length=MOST_CHARS, blank=True, default="")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField()
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["team", "state", "-id"], name="investigation_newest")]

    def __str__(self) -> str:
        return self.title


class InvestigatedRun(models.Model):
    """A later run that somebody has added."""

    investigation = models.ForeignKey(Investigation, models.CASCADE, related_name="added")
    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="+", db_constraint=False)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    added_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["investigation", "run"], name="investigated_once")]
