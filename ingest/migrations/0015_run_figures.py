"""The figures of runs as a whole: a new table, and every run that is known is to be summed up."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

_SHARES = [
    f"{figure}{end}"
    for figure in ("round_s", "waiting_share", "comm_share", "encode_s")
    for end in ("_p5", "", "_p95")
]  # fmt: skip
# One after another over some hours where there are very many, so that what happens meanwhile is judged first.
_ALL_DUE = """
INSERT INTO ingest_runfigures (run_id, due_at, device, devices, trainers, machines, rounds, memory_peak_worker)
SELECT id, now(), '', 0, 0, 0, 0, '' FROM ingest_run
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("ingest", "0014_exports_and_deletions")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="RunFigures",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="figures",
                        serialize=False,
                        to="ingest.run",
                    ),
                ),
                ("due_at", models.DateTimeField(null=True)),
                ("summed_at", models.DateTimeField(null=True)),
                ("device", models.CharField(blank=True, default="", max_length=128)),
                ("devices", models.PositiveIntegerField(default=0)),
                ("trainers", models.PositiveIntegerField(default=0)),
                ("machines", models.PositiveIntegerField(default=0)),
                ("rounds", models.PositiveIntegerField(default=0)),
                (
                    "newest_ns",
                    models.BigIntegerField(help_text="End of the newest of `rounds`, Unix nanoseconds.", null=True),
                ),
                *((name, models.FloatField(null=True)) for name in _SHARES),
                ("memory_peak_bytes", models.FloatField(null=True)),
                ("memory_peak_worker", models.CharField(blank=True, default="", max_length=128)),
                ("device_peak_bytes", models.FloatField(null=True)),
                ("sampled_ns", models.BigIntegerField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="run_figures_due"
                    ),
                    models.Index(fields=["device", "devices", "trainers"], name="run_figures_group"),
                ],
            },
        ),
        migrations.RunSQL(_ALL_DUE, migrations.RunSQL.noop),
    ]
