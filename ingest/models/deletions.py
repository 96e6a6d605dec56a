"""Deletions of runs: how far each has come, and whether its space has been given back."""

from typing import ClassVar

from django.db import models


class Deletion(models.Model):
    """A run that is being deleted, or was; by its id, key and name, for its own row goes last.

    It stays, so that what its agents still bring is known as the deleted run's. `rows_total` is about how many rows it
    had when it began; `first_day` and `last_day` are the oldest and newest daily partitions that held them. Whoever
    deletes a slice holds it until `held_until`; at `reclaimed_at` Postgres was told that its space may be used again.
    """

    run_id = models.UUIDField(primary_key=True)
    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="deletions")
    project = models.CharField(max_length=128)
    key = models.CharField(max_length=128)
    name = models.CharField(max_length=128)
    started_at = models.DateTimeField()
    first_day = models.DateField()
    last_day = models.DateField()
    rows_total = models.BigIntegerField(default=0)
    rows_deleted = models.BigIntegerField(default=0)
    begun_at = models.DateTimeField()
    held_until = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    reclaimed_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["team", "-begun_at"], name="deletion_of_team"),
            models.Index(fields=["team", "project", "key"], name="deletion_of_key"),
        ]

    def __str__(self) -> str:
        return self.name
