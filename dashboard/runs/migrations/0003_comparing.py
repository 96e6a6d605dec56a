"""Comparables and investigations: new tables, so that nothing that is there is rewritten."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0010_chosen_thresholds"),
        ("runs", "0002_joined_runs"),
        ("teams", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Investigation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project", models.CharField(max_length=128)),
                ("title", models.CharField(max_length=160)),
                ("kind", models.CharField(blank=True, default="", max_length=32)),
                ("phase", models.CharField(blank=True, default="", max_length=128)),
                ("observed", models.TextField(blank=True, default="")),
                ("since", models.DateTimeField(help_text="Runs that started after it are later ones.")),
                ("change", models.TextField(max_length=4000)),
                (
                    "check_by",
                    models.CharField(
                        choices=[
                            ("interval", "the check of an interval passes"),
                            ("absent", "the finding does not come again"),
                            ("metric", "a figure stays within a bound"),
                        ],
                        default="absent",
                        max_length=16,
                    ),
                ),
                ("interval", models.CharField(blank=True, default="", max_length=64)),
                (
                    "metric",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("round_s", "round time (s)"),
                            ("waiting", "GPU waiting (% of the round)"),
                            ("comm", "comm share (% of the round)"),
                            ("exposed", "exposed share (% of the round)"),
                        ],
                        default="",
                        max_length=16,
                    ),
                ),
                (
                    "side",
                    models.CharField(
                        choices=[("most", "at most"), ("least", "at least")], default="most", max_length=8
                    ),
                ),
                ("bound", models.FloatField(blank=True, null=True)),
                ("tag", models.CharField(blank=True, default="", max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("confirmed", "Confirmed"), ("refuted", "Refuted")],
                        default="open",
                        max_length=16,
                    ),
                ),
                ("conclusion", models.TextField(blank=True, default="", max_length=4000)),
                ("made_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "finding",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="ingest.finding",
                    ),
                ),
                (
                    "made_by",
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
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="ingest.run",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="investigations", to="teams.team"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="InvestigatedRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("added_at", models.DateTimeField()),
                (
                    "added_by",
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
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="ingest.run",
                    ),
                ),
                (
                    "investigation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="added", to="runs.investigation"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Comparable",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("conditions", models.JSONField()),
                ("reason", models.TextField(max_length=1000)),
                ("made_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "made_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "revoked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="comparables", to="teams.team"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["team", "-id"], name="comparable_newest")],
            },
        ),
        migrations.AddIndex(
            model_name="investigation",
            index=models.Index(fields=["team", "state", "-id"], name="investigation_newest"),
        ),
        migrations.AddConstraint(
            model_name="investigatedrun",
            constraint=models.UniqueConstraint(fields=("investigation", "run"), name="investigated_once"),
        ),
    ]
