"""How long a team keeps its runs: a column that is null for everybody, which is for ever."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("teams", "0002_people")]

    operations: ClassVar = [
        migrations.AddField(
            model_name="team",
            name="summary_days",
            field=models.PositiveIntegerField(null=True),
        ),
    ]
