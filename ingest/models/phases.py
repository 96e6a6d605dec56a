"""Phases: named intervals on one worker in one round, append-only in daily partitions by arrival."""

from typing import ClassVar

from django.db import models


class PhaseName(models.Model):
    """The phase and event names of a run, numbered from 0: what the live feed sends instead of text."""

    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="phase_names")
    index = models.PositiveIntegerField()
    name = models.CharField(max_length=128)
    kind = models.SmallIntegerField(help_text="Index into roundwatch.wire.KINDS.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "name", "kind"], name="phase_name"),
            models.UniqueConstraint(fields=["run", "index"], name="phase_name_index"),
        ]


class Phase(models.Model):
    """An ended phase. Times are Unix nanoseconds on the server's clock; minus `offset_ns` they are as
    recorded.

    Partitioned by `arrived` (see partitions.py and migration 0002), which is why the primary key names
    it and there are no foreign keys: a partition is dropped as a whole. (stream_id, start_number) is the
    phase's identity.
    """

    pk = models.CompositePrimaryKey("arrived", "stream_id", "number")
    arrived = models.DateField()
    run_id = models.UUIDField()
    worker_id = models.BigIntegerField()
    stream_id = models.BigIntegerField()
    number = models.BigIntegerField()
    start_number = models.BigIntegerField()
    round = models.IntegerField(help_text="-1 outside of any round.")
    name_index = models.IntegerField(help_text="PhaseName.index within the run.")
    kind = models.SmallIntegerField()
    thread = models.IntegerField()
    parent = models.BigIntegerField(help_text="Start number of the phase around it, -1 if none.")
    begin_ns = models.BigIntegerField()
    end_ns = models.BigIntegerField()
    offset_ns = models.BigIntegerField()
    error_ns = models.BigIntegerField(null=True)
    state = models.SmallIntegerField(help_text="Index into roundwatch.wire.PHASE_STATES.")
    attrs = models.JSONField(null=True)

    class Meta:
        managed = False
        db_table = "ingest_phase"
