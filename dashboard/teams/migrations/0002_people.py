"""Invitations, when members joined, and an audit of which Postgres itself refuses to change or delete a row."""

from typing import ClassVar

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

_ROLES = [("owner", "Owner"), ("member", "Member"), ("viewer", "Viewer")]

_FORWARD = """
CREATE FUNCTION teams_audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'records of the audit are neither changed nor deleted' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE ON teams_auditrecord
    FOR EACH ROW EXECUTE FUNCTION teams_audit_stays();
"""
_BACKWARD = "DROP TRIGGER audit_stays ON teams_auditrecord; DROP FUNCTION teams_audit_stays();"


class Migration(migrations.Migration):
    dependencies: ClassVar = [("teams", "0001_initial")]

    operations: ClassVar = [
        migrations.AlterField("team", "name", models.CharField(max_length=128)),
        migrations.AddField(
            "user",
            "sessions_ended",
            models.PositiveIntegerField(default=0, help_text="How often all sessions were ended."),
        ),
        # Null for those who are members already; from then on the moment.
        migrations.AddField(
            "membership", "joined_at", models.DateTimeField(null=True, help_text="Null: before this was kept.")
        ),
        migrations.AlterField(
            "membership",
            "joined_at",
            models.DateTimeField(null=True, default=django.utils.timezone.now, help_text="Null: before this was kept."),
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("role", models.CharField(choices=_ROLES, default="member", max_length=16)),
                (
                    "email",
                    models.EmailField(
                        blank=True, max_length=254, help_text="Whom it was meant for; who has the link may use it."
                    ),
                ),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(null=True)),
                ("used_at", models.DateTimeField(null=True)),
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
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="teams.team"
                    ),
                ),
                (
                    "used_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AuditRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("team", models.UUIDField(null=True)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("who", models.CharField(max_length=200)),
                ("area", models.CharField(help_text="An Area.", max_length=16)),
                ("did", models.CharField(max_length=500)),
                ("address", models.GenericIPAddressField(null=True)),
            ],
            options={"indexes": [models.Index(fields=["team", "-id"], name="audit_newest")]},
        ),
        migrations.RunSQL(_FORWARD, _BACKWARD),
    ]
