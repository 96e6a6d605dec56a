"""What is concluded of one round by itself: a new table, so that nothing that is there is rewritten."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("ingest", "0006_stream_asked")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Analysis",
            fields=[
                (
                    "round",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="analysis",
                        serialize=False,
                        to="ingest.round",
                    ),
                ),
                ("version", models.BigIntegerField()),
                ("content", models.JSONField()),
            ],
        ),
    ]
