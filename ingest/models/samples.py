"""Samples: readings of one metric of a worker or device, append-only in daily partitions by arrival."""

from typing import ClassVar

from django.db import models


class Series(models.Model):
    """What a sample belongs to: one metric of one device in one stream; `worker` where it speaks of one worker."""

    stream = models.ForeignKey("ingest.Stream", models.CASCADE, related_name="series")
    worker = models.ForeignKey("ingest.Worker", models.CASCADE, null=True, related_name="series")
    metric = models.CharField(max_length=128)
    unit = models.CharField(max_length=32, blank=True, default="")
    source = models.CharField(max_length=16, default="host")
    device = models.CharField(max_length=128, blank=True, default="")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["stream", "worker", "metric", "device"], name="series_key", nulls_distinct=False
            ),
        ]


class Sample(models.Model):
    """One reading; absent ones have no row."""

    pk = models.CompositePrimaryKey("arrived", "stream_id", "number")
    arrived = models.DateField()
    series_id = models.BigIntegerField()
    stream_id = models.BigIntegerField()
    number = models.BigIntegerField()
    round = models.IntegerField()
    time_ns = models.BigIntegerField()
    value = models.FloatField()

    class Meta:
        managed = False
        db_table = "ingest_sample"
