"""A stream: the ordered log of one attempt of a worker or shipper, and what of it is lost or unreadable."""

from typing import ClassVar

from django.db import models


class Stream(models.Model):
    """`numbers` is the set of stream numbers stored; a hole in it is missing until the agent declares a drop.

    `index` numbers the streams of a run from 0 in the order in which they were heard of: what the live feed and
    findings' spans call attempt, unique in the run. `attempt` numbers the lives of one worker from 0 in the order in
    which they began, and moves up when an earlier one is heard of late: what REST and pages call attempt, and META
    "number". `opens` lists the phases open after record `opens_number`, as `wire.OpenPhase` with corrected
    `begin_ns`, seen alive at `opens_at_ns` (corrected). A shipper's own stream has a machine and no worker; `deleted`
    keeps the tombstone of a deleted run's stream; `asked` is what its next batch's answer asks for (store/asks.py).
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="streams")
    uid = models.UUIDField()
    worker = models.ForeignKey("ingest.Worker", models.CASCADE, null=True, related_name="streams")
    run = models.ForeignKey("ingest.Run", models.CASCADE, null=True, related_name="streams")
    index = models.PositiveIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=0, help_text="Which life of its worker this is, from 0.")
    machine = models.CharField(max_length=128, blank=True, default="")
    pid = models.BigIntegerField(default=0)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    end_state = models.CharField(max_length=16, blank=True, default="")
    # numbers: int8multirange NOT NULL DEFAULT '{}' is added by migration 0002, for Django has no field for it;
    # multiranges.py reads and writes it.
    highest = models.BigIntegerField(default=-1, help_text="Highest number the agent has recorded, as it reports.")
    stored_count = models.BigIntegerField(default=0)
    dropped_count = models.BigIntegerField(default=0)
    rejected_count = models.BigIntegerField(default=0)
    opens = models.JSONField(default=list)
    opens_number = models.BigIntegerField(default=-1)
    opens_at_ns = models.BigIntegerField(default=0)
    offset_ns = models.BigIntegerField(default=0)
    error_ns = models.BigIntegerField(null=True)
    heard_at = models.DateTimeField()
    deleted = models.BooleanField(default=False)
    asked = models.JSONField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["team", "uid"], name="stream_uid")]
        indexes: ClassVar = [
            models.Index(fields=["run", "index"], name="stream_of_run"),
            models.Index(fields=["team", "machine"], name="stream_of_machine"),
        ]


class Gap(models.Model):
    """Records that will never come, as the agent counted them: numbers `number` .. `number + span - 1`."""

    stream = models.ForeignKey("ingest.Stream", models.CASCADE, related_name="gaps")
    number = models.BigIntegerField()
    span = models.BigIntegerField()
    count = models.BigIntegerField()
    what = models.CharField(max_length=16, default="any")
    reason = models.CharField(max_length=128, blank=True, default="")
    begin_ns = models.BigIntegerField(null=True)
    end_ns = models.BigIntegerField(null=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["stream", "number"], name="gap_number")]


class Quarantine(models.Model):
    """A record that came and could not be stored: why, and what it said."""

    stream = models.ForeignKey("ingest.Stream", models.CASCADE, related_name="quarantined")
    number = models.BigIntegerField()
    reason = models.CharField(max_length=256)
    record = models.JSONField()
    arrived_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["stream", "number"], name="quarantine_number")]
