"""A worker: one participating process of a run, over all its attempts."""

from typing import ClassVar

from django.db import models


class WorkerState(models.TextChoices):
    RUNNING = "running"
    STALE = "stale"
    LOST = "lost"
    FINISHED = "finished"
    FAILED = "failed"
    KILLED = "killed"


class Worker(models.Model):
    """`index` numbers the workers of a run from 0 in order of arrival: the lane of the live feed.

    `spoken_by` is the stream that records for a worker without an agent of its own (record_phase): it is
    heard, and ends, with that stream.
    """

    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="workers")
    index = models.PositiveIntegerField()
    name = models.CharField(max_length=128)
    role = models.CharField(max_length=16, default="trainer")
    rank = models.IntegerField(null=True)
    local_rank = models.IntegerField(null=True)
    world_size = models.IntegerField(null=True)
    group = models.CharField(max_length=128, null=True)
    machine = models.CharField(max_length=128, blank=True, default="")
    host = models.CharField(max_length=128, blank=True, default="")
    site = models.CharField(max_length=128, null=True)
    state = models.CharField(max_length=16, choices=WorkerState, default=WorkerState.RUNNING)
    state_reason = models.TextField(blank=True, default="")
    attempt = models.PositiveIntegerField(default=0, help_text="Number of its newest attempt, from 0.")
    spoken_by = models.ForeignKey("ingest.Stream", models.SET_NULL, null=True, related_name="speaks_for")
    last_seen = models.DateTimeField()
    clock_offset_ns = models.BigIntegerField(null=True)
    clock_error_ns = models.BigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "name"], name="worker_name"),
            models.UniqueConstraint(fields=["run", "index"], name="worker_index"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["machine"], name="worker_machine"),
            models.Index(fields=["last_seen"], condition=models.Q(state__in=("running", "stale")), name="worker_live"),
        ]

    def __str__(self) -> str:
        return self.name
