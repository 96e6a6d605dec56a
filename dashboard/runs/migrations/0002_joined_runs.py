"""Runs that people joined to one training."""

from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("ingest", "0010_chosen_thresholds"),
        ("runs", "0001_run_list"),
        ("teams", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="JoinedRun",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="joined",
                        serialize=False,
                        to="ingest.run",
                    ),
                ),
                ("group", models.UUIDField()),
                ("joined_at", models.DateTimeField(auto_now_add=True)),
                (
                    "joined_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="teams.team"),
                ),
            ],
            options={"indexes": [models.Index(fields=["team", "group"], name="joined_run_group")]},
        ),
    ]
