"""Intervals that teams define, and the runs in which they are to be judged anew."""

from typing import ClassVar

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("ingest", "0008_outbox"),
        ("teams", "0001_initial"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="IntervalsDue",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="intervals_due",
                        serialize=False,
                        to="ingest.run",
                    ),
                ),
                ("asked_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Interval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project", models.CharField(max_length=128)),
                ("name", models.CharField(max_length=64)),
                (
                    "begin_which",
                    models.CharField(choices=[("first", "First"), ("last", "Last")], default="last", max_length=8),
                ),
                (
                    "begin_of",
                    models.CharField(
                        choices=[("begin", "start of"), ("end", "end of"), ("event", "event")],
                        default="end",
                        max_length=8,
                    ),
                ),
                ("begin_name", models.CharField(max_length=128)),
                (
                    "end_which",
                    models.CharField(choices=[("first", "First"), ("last", "Last")], default="first", max_length=8),
                ),
                (
                    "end_of",
                    models.CharField(
                        choices=[("begin", "start of"), ("end", "end of"), ("event", "event")],
                        default="begin",
                        max_length=8,
                    ),
                ),
                ("end_name", models.CharField(max_length=128)),
                (
                    "most_s",
                    models.FloatField(
                        blank=True, null=True, validators=[django.core.validators.MaxValueValidator(1000000.0)]
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="intervals",
                        to="ingest.run",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="intervals", to="teams.team"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("run", None)),
                        fields=("team", "project", "name"),
                        name="interval_of_project",
                    ),
                    models.UniqueConstraint(fields=("run", "name"), name="interval_of_run"),
                ],
            },
        ),
    ]
