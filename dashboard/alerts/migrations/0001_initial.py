"""Rules, channels, alerts and deliveries; the database itself deletes what is told of a finding with the finding."""

import dashboard.alerts.models
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


_CASCADES = [
    ("alerts_alert", "run_id", "ingest_run"),
    ("alerts_alert", "finding_id", "ingest_finding"),
    ("alerts_delivery", "alert_id", "alerts_alert"),
    ("alerts_delivery", "outbox_id", "ingest_outbox"),
    ("alerts_try", "delivery_id", "alerts_delivery"),
]
_CASCADE = "ALTER TABLE {} ADD FOREIGN KEY ({}) REFERENCES {} (id) ON DELETE CASCADE"


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('ingest', '0008_outbox'),
        ('teams', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Setup',
            fields=[
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='alert_setup', serialize=False, to='teams.team')),
                ('made_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=32)),
                ('phase', models.CharField(blank=True, default='', max_length=128)),
                ('state', models.CharField(choices=[('open', 'Open'), ('acknowledged', 'Acknowledged'), ('silenced', 'Silenced'), ('resolved', 'Resolved')], default='open', max_length=16)),
                ('pages', models.BooleanField(default=False)),
                ('times', models.PositiveIntegerField(default=1)),
                ('opened_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('resolved_at', models.DateTimeField(null=True)),
                ('told_at', models.DateTimeField(help_text='When people were last to be told that it opened.', null=True)),
                ('silenced_until', models.DateTimeField(null=True)),
                ('changed_at', models.DateTimeField(null=True)),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('finding', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='ingest.finding')),
                ('run', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='ingest.run')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='teams.team')),
            ],
        ),
        migrations.CreateModel(
            name='Channel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=128)),
                ('way', models.CharField(max_length=16)),
                ('settings', models.JSONField(default=dict)),
                ('secret', models.CharField(default=dashboard.alerts.models.new_secret, max_length=64)),
                ('pages_only', models.BooleanField(default=False, help_text='Used only where somebody is to be woken.')),
                ('enabled', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='teams.team')),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('happened', models.CharField(choices=[('opened', 'Opened'), ('resolved', 'Resolved'), ('withdrawn', 'Withdrawn'), ('test', 'Test')], max_length=16)),
                ('content', models.JSONField()),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='waiting', max_length=16)),
                ('made_at', models.DateTimeField()),
                ('next_try_at', models.DateTimeField(null=True)),
                ('claimed_until', models.DateTimeField(null=True)),
                ('alert', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='alerts.alert')),
                ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='alerts.channel')),
                ('outbox', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ingest.outbox')),
            ],
        ),
        migrations.CreateModel(
            name='Rule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=128)),
                ('enabled', models.BooleanField(default=True)),
                ('pages', models.BooleanField(default=False, help_text='Whether somebody is to be woken.')),
                ('kinds', models.JSONField(default=list)),
                ('severities', models.JSONField(default=list)),
                ('phases', models.JSONField(default=list)),
                ('projects', models.JSONField(default=list)),
                ('tags', models.JSONField(default=list)),
                ('channels', models.ManyToManyField(blank=True, related_name='rules', to='alerts.channel')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='teams.team')),
            ],
        ),
        migrations.CreateModel(
            name='Try',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('begun_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('delivered', models.BooleanField(default=False)),
                ('answer', models.TextField(blank=True, default='', help_text='What came of it, in words.')),
                ('delivery', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='tries', to='alerts.delivery')),
            ],
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['team', '-opened_at', 'id'], name='alert_newest'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(fields=('run', 'kind', 'phase'), name='alert_incident'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['next_try_at'], name='delivery_waiting'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('outbox', 'channel'), name='delivery_once'),
        ),
        *(migrations.RunSQL(_CASCADE.format(*each), migrations.RunSQL.noop) for each in _CASCADES),
    ]
