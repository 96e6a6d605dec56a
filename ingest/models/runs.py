"""A run: one training job of a team, in a project."""

import uuid
from typing import ClassVar

from django.db import models
from django.utils import timezone


class RunState(models.TextChoices):
    RUNNING = "running"
    STALE = "stale"
    LOST = "lost"
    FINISHED = "finished"
    FAILED = "failed"
    KILLED = "killed"


class Run(models.Model):
    """Keyed (team, project, key); `serial` tells apart runs whose automatically found key came again after a day.

    `person` to `finding_kinds` follow from other tables, kept by store.standings. Two columns that Django does not
    know are Postgres' own (migration 0011): `search`, all words that a run can be found by, and `labels`, what it is
    filtered by.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="runs")
    project = models.CharField(max_length=128)
    key = models.CharField(max_length=128)
    serial = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=128)
    state = models.CharField(max_length=16, choices=RunState, default=RunState.RUNNING)
    tags = models.JSONField(default=list)
    notes = models.TextField(blank=True, default="")
    archived_at = models.DateTimeField(null=True, help_text="Since when the list hides it.")
    config = models.JSONField(default=dict)
    conditions = models.JSONField(default=dict)
    person = models.CharField(
        max_length=128, blank=True, default="", help_text="Under whose account on the host it was begun last."
    )
    trainers = models.PositiveIntegerField(default=0)
    machines = models.JSONField(default=list, help_text="Names of its hosts, and the ids of their kernels' boots.")
    devices = models.JSONField(default=list, help_text="Models of the hosts' devices, the commonest first.")
    crew_words = models.TextField(blank=True, default="", help_text="Names of hosts and workers, to be found by.")
    finding_kinds = models.JSONField(default=list)
    rounds_planned = models.PositiveIntegerField(null=True)
    model_bytes = models.BigIntegerField(null=True)
    flops_per_item = models.FloatField(null=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    heard_at = models.DateTimeField(help_text="When the server last heard of any of its workers.")
    first_day = models.DateField(help_text="Oldest daily partition that holds its phases or samples.")
    last_day = models.DateField(help_text="Newest such partition.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team", "project", "key", "serial"], name="run_key"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["team", "-started_at", "id"], name="run_newest"),
            models.Index(
                fields=["team", "-started_at", "id"], condition=models.Q(archived_at=None), name="run_newest_listed"
            ),
            models.Index(
                fields=["team", "-started_at", "id"], condition=models.Q(ended_at=None), name="run_newest_active"
            ),
            models.Index(fields=["team", "project", "-started_at", "id"], name="run_of_project"),
            models.Index(fields=["team", "state", "-started_at", "id"], name="run_of_state"),
            models.Index(fields=["team", "-name", "id"], name="run_by_name"),
            models.Index(fields=["team", "-trainers", "id"], name="run_by_size"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def gpu_hours(self) -> float | None:
        """Hours of its trainers' devices until its end, or now; None where no device is known."""
        lasted = (self.ended_at or timezone.now()) - self.started_at
        return self.trainers * max(0.0, lasted.total_seconds()) / 3600 if self.devices else None
