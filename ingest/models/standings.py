"""How runs stand: what the list of runs sorts by, and which runs are to be summed up anew."""

from typing import ClassVar

from django.db import models

_SORTED_BY = (
    "rounds", "round_s", "waiting_share", "items_per_s", "duration_s", "gpu_hours", "longest_wait_share",
    "open_findings",
)  # fmt: skip


class Standing(models.Model):
    """Sums of a run, kept by store.standings within seconds. A table of its own: of a run that goes on they change all
    the time, and a run's own row stands in indexes of all its words.

    Null is not known. Durations are seconds, shares are of 1. `round_s` and `waiting_share` are the medians of the
    run's figures (RunFigures) as soon as these are known, the rest is of the newest rounds (store.standings.RECENT);
    `rounds` is the number of the newest closed round, from 1. `longest_wait` names the phase, or kind of phase, other
    than compute that takes most of the critical path.
    """

    run = models.OneToOneField("ingest.Run", models.CASCADE, primary_key=True, related_name="standing")
    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="+")
    rounds = models.IntegerField(null=True)
    round_s = models.FloatField(null=True)
    waiting_share = models.FloatField(null=True)
    items_per_s = models.FloatField(null=True)
    duration_s = models.FloatField(null=True)
    gpu_hours = models.FloatField(null=True)
    longest_wait = models.CharField(max_length=128, blank=True, default="")
    longest_wait_share = models.FloatField(null=True)
    open_findings = models.PositiveIntegerField(default=0)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["team", f"-{name}", "run"], name=f"standing_{name}"[:30]) for name in _SORTED_BY
        ]


class StandingDue(models.Model):
    """A run that something was stored of since it was summed up; `crew` where its workers or their hosts changed.

    Rows are only added, never looked for: whoever stores something holds no lock that another could wait for.
    """

    run_id = models.UUIDField()
    crew = models.BooleanField(default=False)
