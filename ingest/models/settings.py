"""Settings: single values of runs' configurations, by path, so that runs can be found by them."""

from typing import ClassVar

from django.db import models

MOST_CHARS = 200  # of a path and of a value: of a longer one the beginning is kept


class Setting(models.Model):
    """`path` is as in "optimizer.lr", `text` the value as text; `number` where it is one.

    Postgres writes them itself whenever a run's configuration changes (a trigger of migration 0011), at most 500 of it.
    """

    run = models.ForeignKey("ingest.Run", models.CASCADE, related_name="settings")
    team = models.ForeignKey("teams.Team", models.CASCADE, related_name="+")
    path = models.CharField(max_length=MOST_CHARS)
    number = models.FloatField(null=True)
    text = models.CharField(max_length=MOST_CHARS)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["team", "path", "number", "run"], name="setting_number"),
            models.Index(fields=["team", "path", "text", "run"], name="setting_text"),
            models.Index(fields=["run", "path"], name="setting_of_run"),
        ]
