"""Events: named instants on one worker, append-only in daily partitions by arrival."""

from django.db import models


class Event(models.Model):
    """`name_index` is PhaseName.index with kind "other"; times and partitions are as for phases."""

    pk = models.CompositePrimaryKey("arrived", "stream_id", "number")
    arrived = models.DateField()
    run_id = models.UUIDField()
    worker_id = models.BigIntegerField()
    stream_id = models.BigIntegerField()
    number = models.BigIntegerField()
    round = models.IntegerField()
    name_index = models.IntegerField()
    thread = models.IntegerField()
    time_ns = models.BigIntegerField()
    offset_ns = models.BigIntegerField()
    error_ns = models.BigIntegerField(null=True)
    attrs = models.JSONField(null=True)

    class Meta:
        managed = False
        db_table = "ingest_event"
