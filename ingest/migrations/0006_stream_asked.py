"""What a stream's next batch takes along with its answer: a column without a default, which no row is rewritten for."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("ingest", "0005_round_judged_versions")]

    operations: ClassVar = [
        migrations.AddField(model_name="stream", name="asked", field=models.JSONField(null=True)),
    ]
