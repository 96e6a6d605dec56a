"""The outbox between findings and telling people; the database itself deletes its rows with their finding."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

_CASCADE = """
ALTER TABLE ingest_outbox ADD CONSTRAINT outbox_of_finding
FOREIGN KEY (finding_id) REFERENCES ingest_finding (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("ingest", "0007_analysis")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Outbox",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "happened",
                    models.CharField(
                        choices=[("opened", "Opened"), ("resolved", "Resolved"), ("withdrawn", "Withdrawn")],
                        max_length=16,
                    ),
                ),
                ("made_at", models.DateTimeField()),
                ("due_at", models.DateTimeField(null=True)),
                (
                    "finding",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outbox",
                        to="ingest.finding",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="outbox_due")
                ],
            },
        ),
        migrations.RunSQL(_CASCADE, migrations.RunSQL.noop),
    ]
