"""Rounds: one synchronous exchange of a run, and each attempt's part in it."""

from collections.abc import Iterable
from typing import ClassVar
from uuid import UUID

from django.db import models

MOST_TRIES = 5  # to judge the same data of a round, should each end in an error or take its process down


class Round(models.Model):
    """A generation of a round; the newest counts, the older stay visible.

    `data_version` grows with every record that touches it, `verdict_version` is the version that detection
    has judged: the watcher finds what is closed and newer than its verdict. `tries` counts how often the judgement
    of `tried_version` was begun. `judged_version` is that of its data when its window was last judged by itself,
    `lasting_version` when what lasts over windows was. Summary fields are null until computed.
    """

    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="rounds")
    index = models.IntegerField()
    generation = models.PositiveIntegerField(default=0)
    begin_ns = models.BigIntegerField()
    end_ns = models.BigIntegerField(null=True)
    closed = models.BooleanField(default=False)
    data_version = models.BigIntegerField(default=0)
    verdict_version = models.BigIntegerField(default=-1)
    tries = models.PositiveSmallIntegerField(default=0)
    tried_version = models.BigIntegerField(default=-1)
    judged_version = models.BigIntegerField(default=-1)
    lasting_version = models.BigIntegerField(default=-1)
    trainers = models.PositiveIntegerField(default=0)
    coverage = models.FloatField(null=True, help_text="Mean over trainers of the share of the wall in any phase.")
    gpu_waiting_share = models.FloatField(null=True)
    kind_seconds = models.JSONField(null=True, help_text="Trainers' mean leaf seconds, one figure per wire.KINDS.")
    items = models.FloatField(null=True, help_text="Training samples or tokens that its phases say they carried.")
    judged = models.JSONField(null=True, help_text="What detection could see: phase, workers, smallest ratio, why not.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "index", "generation"], name="round_generation"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["run", "begin_ns"], name="round_time"),
            models.Index(fields=["run"], condition=models.Q(closed=False), name="round_open"),
            models.Index(
                models.F("run"),
                (models.F("end_ns") - models.F("begin_ns")).desc(),
                models.F("index").desc(),
                condition=models.Q(closed=True, end_ns__isnull=False),
                name="round_wall",
            ),
            models.Index(
                fields=["id"],
                condition=models.Q(closed=True) & ~models.Q(verdict_version=models.F("data_version")),
                name="round_unjudged",
            ),
        ]


class WorkerRound(models.Model):
    """One attempt's part in a round; `derived` where it follows from recorded phases and not from begin and end."""

    round = models.ForeignKey("ingest.Round", models.CASCADE, related_name="parts")
    stream = models.ForeignKey("ingest.Stream", models.CASCADE, related_name="rounds")
    worker = models.ForeignKey("ingest.Worker", models.CASCADE, related_name="rounds")
    begin_ns = models.BigIntegerField()
    end_ns = models.BigIntegerField(null=True)
    derived = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["round", "stream", "worker"], name="worker_round")]


def newest_generations(run_id: UUID, indexes: Iterable[int]) -> dict[int, int]:
    """The newest generation of each of the run's rounds that exists."""
    rows = Round.objects.filter(run_id=run_id, index__in=list(indexes)).values_list("index")
    return dict(rows.annotate(newest=models.Max("generation")).order_by())
