"""Messages that wait for their time: quiet hours of channels, escalation by rules. Columns with defaults alone."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("alerts", "0001_initial")]

    operations: ClassVar = [
        migrations.AddField(model_name="channel", name="quiet_from", field=models.TimeField(blank=True, null=True)),
        migrations.AddField(model_name="channel", name="quiet_to", field=models.TimeField(blank=True, null=True)),
        migrations.AddField(
            model_name="channel", name="quiet_zone", field=models.CharField(default="UTC", max_length=64)
        ),
        migrations.AddField(
            model_name="channel",
            name="quiet_pages",
            field=models.BooleanField(default=True, help_text="Whether what wakes somebody is told all the same."),
        ),
        migrations.AddField(
            model_name="rule",
            name="escalate_after",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="rule",
            name="escalate_to",
            field=models.ManyToManyField(blank=True, related_name="escalations", to="alerts.channel"),
        ),
        migrations.AddField(
            model_name="alert",
            name="begun_at",
            field=models.DateTimeField(
                help_text="When it last came to want somebody: escalation counts from it.", null=True
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="held",
            field=models.CharField(
                blank=True,
                choices=[("quiet", "Quiet"), ("unacknowledged", "Unacknowledged")],
                default="",
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="happened",
            field=models.CharField(
                choices=[
                    ("opened", "Opened"),
                    ("resolved", "Resolved"),
                    ("withdrawn", "Withdrawn"),
                    ("escalated", "Escalated"),
                    ("summary", "Summary"),
                    ("test", "Test"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "Waiting"),
                    ("delivered", "Delivered"),
                    ("failed", "Failed"),
                    ("held", "Held"),
                    ("dropped", "Dropped"),
                    ("summarised", "Summarised"),
                ],
                default="waiting",
                max_length=16,
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(condition=models.Q(("state", "held")), fields=["next_try_at"], name="delivery_held"),
        ),
        migrations.AddIndex(model_name="delivery", index=models.Index(fields=["made_at"], name="delivery_age")),
    ]
