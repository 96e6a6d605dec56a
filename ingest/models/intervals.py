"""Intervals that a team has measured: between two named boundaries of a round, with or without a check."""

from typing import ClassVar

from django.core.validators import MaxValueValidator
from django.db import models

from ingest.detection import named_intervals

MOST_S = 1e6


class Of(models.TextChoices):
    """What a boundary is."""

    BEGIN = "begin", "start of"
    END = "end", "end of"
    EVENT = "event", "event"


class Which(models.TextChoices):
    """Whose boundary counts, where several workers have it."""

    FIRST = "first"
    LAST = "last"


class Interval(models.Model):
    """Of all runs of a project, or of the one `run` alone, whose own wins over the project's of the same name.

    `most_s` is what its check allows, in seconds; null asks for no check.
    """

    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="intervals")
    project = models.CharField(max_length=128)
    run = models.ForeignKey("ingest.Run", models.CASCADE, null=True, blank=True, related_name="intervals")
    name = models.CharField(max_length=64)
    begin_which = models.CharField(max_length=8, choices=Which, default=Which.LAST)
    begin_of = models.CharField(max_length=8, choices=Of, default=Of.END)
    begin_name = models.CharField(max_length=128)
    end_which = models.CharField(max_length=8, choices=Which, default=Which.FIRST)
    end_of = models.CharField(max_length=8, choices=Of, default=Of.BEGIN)
    end_name = models.CharField(max_length=128)
    most_s = models.FloatField(null=True, blank=True, validators=[MaxValueValidator(MOST_S)])

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["team", "project", "name"], condition=models.Q(run=None), name="interval_of_project"
            ),
            models.UniqueConstraint(fields=["run", "name"], name="interval_of_run"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def asked(self) -> named_intervals.Interval:
        """The same as detection takes it."""
        begin, end = (
            named_intervals.Boundary(of=named_intervals.Of(of), name=name, first=which == Which.FIRST)
            for of, name, which in (
                (self.begin_of, self.begin_name, self.begin_which), (self.end_of, self.end_name, self.end_which),
            )
        )  # fmt: skip
        return named_intervals.Interval(
            name=self.name, begin=(begin,), end=(end,), most_s=self.most_s, asked=True
        )  # fmt: skip


class IntervalsDue(models.Model):
    """A run whose intervals have changed since they were judged; its row goes with that judgement.

    `asked_at` is when they were changed; where their judgement failed, it is when that is tried again.
    """

    run = models.OneToOneField("ingest.Run", models.CASCADE, primary_key=True, related_name="intervals_due")
    asked_at = models.DateTimeField()
