"""Exports of runs, and how far deletions have come: new tables, so that nothing that is there is rewritten."""

import uuid
from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("ingest", "0013_token_created_by"),
        ("teams", "0002_people"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Deletion",
            fields=[
                ("run_id", models.UUIDField(primary_key=True, serialize=False)),
                ("project", models.CharField(max_length=128)),
                ("key", models.CharField(max_length=128)),
                ("name", models.CharField(max_length=128)),
                ("started_at", models.DateTimeField()),
                ("first_day", models.DateField()),
                ("last_day", models.DateField()),
                ("rows_total", models.BigIntegerField(default=0)),
                ("rows_deleted", models.BigIntegerField(default=0)),
                ("begun_at", models.DateTimeField()),
                ("held_until", models.DateTimeField(null=True)),
                ("done_at", models.DateTimeField(null=True)),
                ("reclaimed_at", models.DateTimeField(null=True)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="deletions", to="teams.team"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["team", "-begun_at"], name="deletion_of_team"),
                    models.Index(fields=["team", "project", "key"], name="deletion_of_key"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("format", models.CharField(max_length=16)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=16,
                    ),
                ),
                ("cursor", models.JSONField(null=True)),
                ("records", models.BigIntegerField(default=0)),
                ("records_total", models.BigIntegerField(null=True)),
                ("file_bytes", models.BigIntegerField(default=0)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                (
                    "reason",
                    models.CharField(blank=True, default="", help_text="Why its last slice failed.", max_length=256),
                ),
                ("made_at", models.DateTimeField()),
                ("held_until", models.DateTimeField(null=True)),
                ("done_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="exports", to="ingest.run"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="exports", to="teams.team"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "-made_at"], name="export_of_run"),
                    models.Index(
                        condition=models.Q(("state__in", ("waiting", "running"))),
                        fields=["made_at"],
                        name="export_going",
                    ),
                ],
            },
        ),
    ]
