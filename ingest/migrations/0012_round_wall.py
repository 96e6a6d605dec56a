"""An index by wall time, for the slowest of a hundred thousand rounds; what is open is not in it."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("ingest", "0011_run_list")]

    operations: ClassVar = [
        migrations.AddIndex(
            model_name="round",
            index=models.Index(
                models.F("run"),
                (models.F("end_ns") - models.F("begin_ns")).desc(),
                models.F("index").desc(),
                condition=models.Q(closed=True, end_ns__isnull=False),
                name="round_wall",
            ),
        ),
    ]
