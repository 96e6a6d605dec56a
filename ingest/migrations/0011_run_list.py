"""What the list of runs is filtered, searched and sorted by, kept as columns: nothing of it is computed for a request.

Two columns of runs Postgres makes itself, so that they cannot differ from what they are made of: `search` and `labels`.
"""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models

# A word is found by any of its beginnings, and by those of its parts: "vit-b16-run6" is vit-b16-run6, b16-run6,
# 16-run6, run6 and 6. Whatever is neither letter nor digit sets parts apart (queries.run_search reads a question the
# same way). Only ASCII is folded: what a server's locale thinks of other letters would change with the server. What is
# cut keeps a hostile name or note small: 48 characters of a part, 4,000 parts of a run, the first ones.
FORWARD = r"""
CREATE FUNCTION ingest_run_words(
    name text, project text, key text, person text, tags jsonb, kinds jsonb, crew text, notes text
) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(coalesce(array_agg(DISTINCT part) FILTER (WHERE part <> ''), '{}')) FROM (
        SELECT left(substr(word, at), 48) AS part FROM (
            SELECT n, left(btrim(regexp_replace(raw, '[\x01-\x2f\x3a-\x60\x7b-\x7f]+', '-', 'g'), '-'), 200) AS word
            FROM regexp_split_to_table(
                lower((name || ' ' || project || ' ' || key || ' ' || person || ' ' || tags::text || ' ' || kinds::text || ' ' ||
                       left(crew, 60000) || ' ' || left(notes, 20000)) COLLATE "C"),
                '[\x01-\x20]+'
            ) WITH ORDINALITY AS split (raw, n)
        ) AS words CROSS JOIN LATERAL generate_series(1, length(word)) AS at
        WHERE at = 1 OR substr(word, at - 1, 1) = '-'
           OR (substr(word, at, 1) ~ '[0-9]' AND substr(word, at - 1, 1) ~ '[^-0-9]')
        ORDER BY n, at LIMIT 4000
    ) AS parts
$$;
CREATE FUNCTION ingest_run_labels(
    tags jsonb, machines jsonb, devices jsonb, kinds jsonb, person text
) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(label), '{}') FROM (
        SELECT 'tag=' || left(value, 128) AS label
        FROM jsonb_array_elements_text(CASE jsonb_typeof(tags) WHEN 'array' THEN tags ELSE '[]' END) AS value
        UNION SELECT 'machine=' || left(value, 128) FROM jsonb_array_elements_text(machines) AS value
        UNION SELECT 'device=' || left(value, 128) FROM jsonb_array_elements_text(devices) AS value
        UNION SELECT 'finding=' || left(value, 128) FROM jsonb_array_elements_text(kinds) AS value
        UNION SELECT 'person=' || left(person, 128) WHERE person <> ''
    ) AS found
$$;
ALTER TABLE ingest_run
    ADD COLUMN search tsvector
    GENERATED ALWAYS AS (ingest_run_words(name, project, key, person, tags, finding_kinds, crew_words, notes)) STORED,
    ADD COLUMN labels text[]
    GENERATED ALWAYS AS (ingest_run_labels(tags, machines, devices, finding_kinds, person)) STORED;
-- Labels are of five sorts: what is common among them is to be known of each.
ALTER TABLE ingest_run ALTER COLUMN labels SET STATISTICS 500, ALTER COLUMN search SET STATISTICS 500;
CREATE INDEX run_search ON ingest_run USING gin (search);
CREATE INDEX run_labels ON ingest_run USING gin (labels);

-- What is no number a float can hold is text alone: a training's configuration may say anything.
CREATE FUNCTION ingest_settings_of(config jsonb) RETURNS TABLE (path text, number float8, said text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    WITH RECURSIVE flat (path, value, depth) AS (
        SELECT key, value, 1 FROM jsonb_each(CASE jsonb_typeof(config) WHEN 'object' THEN config ELSE '{}' END)
        UNION ALL
        SELECT flat.path || '.' || part.key, part.value, depth + 1 FROM flat CROSS JOIN LATERAL
            jsonb_each(CASE WHEN jsonb_typeof(flat.value) = 'object' AND depth < 8 THEN flat.value ELSE '{}' END) AS part
    )
    SELECT left(path, 200),
           CASE WHEN jsonb_typeof(value) = 'number' THEN
               CASE WHEN value::numeric = 0 THEN 0
                    WHEN abs(value::numeric) BETWEEN 1e-300 AND 1e300 THEN value::float8 END
           END,
           left(CASE jsonb_typeof(value) WHEN 'string' THEN value #>> '{}' ELSE value::text END, 200)
    FROM flat WHERE jsonb_typeof(value) <> 'object' LIMIT 500
$$;
CREATE FUNCTION ingest_keep_settings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM ingest_setting WHERE run_id = NEW.id;
    INSERT INTO ingest_setting (run_id, team_id, path, number, text)
        SELECT NEW.id, NEW.team_id, found.path, found.number, found.said FROM ingest_settings_of(NEW.config) AS found;
    RETURN NULL;
END $$;
CREATE TRIGGER settings_begin AFTER INSERT ON ingest_run
    FOR EACH ROW WHEN (NEW.config <> '{}') EXECUTE FUNCTION ingest_keep_settings();
CREATE TRIGGER settings_change AFTER UPDATE OF config ON ingest_run
    FOR EACH ROW WHEN (OLD.config IS DISTINCT FROM NEW.config) EXECUTE FUNCTION ingest_keep_settings();

-- What is there already.
INSERT INTO ingest_setting (run_id, team_id, path, number, text)
    SELECT r.id, r.team_id, found.path, found.number, found.said
    FROM ingest_run r CROSS JOIN ingest_settings_of(r.config) AS found;
INSERT INTO ingest_standingdue (run_id, crew) SELECT id, true FROM ingest_run ORDER BY started_at DESC;
"""
BACK = """
DROP TRIGGER settings_begin ON ingest_run;
DROP TRIGGER settings_change ON ingest_run;
ALTER TABLE ingest_run DROP COLUMN search, DROP COLUMN labels;
DROP FUNCTION ingest_keep_settings, ingest_settings_of, ingest_run_words, ingest_run_labels;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("ingest", "0010_chosen_thresholds"),
        ("teams", "0001_initial"),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Setting",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=200)),
                ("number", models.FloatField(null=True)),
                ("text", models.CharField(max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name="Standing",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="standing",
                        serialize=False,
                        to="ingest.run",
                    ),
                ),
                ("rounds", models.IntegerField(null=True)),
                ("round_s", models.FloatField(null=True)),
                ("waiting_share", models.FloatField(null=True)),
                ("items_per_s", models.FloatField(null=True)),
                ("duration_s", models.FloatField(null=True)),
                ("gpu_hours", models.FloatField(null=True)),
                ("longest_wait", models.CharField(blank=True, default="", max_length=128)),
                ("longest_wait_share", models.FloatField(null=True)),
                ("open_findings", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="StandingDue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("run_id", models.UUIDField()),
                ("crew", models.BooleanField(default=False)),
            ],
        ),
        migrations.AddField(
            model_name="round",
            name="items",
            field=models.FloatField(
                help_text="Training samples or tokens that its phases say they carried.", null=True
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="archived_at",
            field=models.DateTimeField(help_text="Since when the list hides it.", null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="crew_words",
            field=models.TextField(blank=True, default="", help_text="Names of hosts and workers, to be found by."),
        ),
        migrations.AddField(
            model_name="run",
            name="devices",
            field=models.JSONField(default=list, help_text="Models of the hosts' devices, the commonest first."),
        ),
        migrations.AddField(
            model_name="run",
            name="finding_kinds",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="run",
            name="machines",
            field=models.JSONField(default=list, help_text="Names of its hosts, and the ids of their kernels' boots."),
        ),
        migrations.AddField(
            model_name="run",
            name="person",
            field=models.CharField(
                blank=True, default="", help_text="Under whose account on the host it was begun last.", max_length=128
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="trainers",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(condition=models.Q(("state", "open")), fields=["run"], name="finding_open"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("archived_at", None)),
                fields=["team", "-started_at", "id"],
                name="run_newest_listed",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("ended_at", None)), fields=["team", "-started_at", "id"], name="run_newest_active"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["team", "project", "-started_at", "id"], name="run_of_project"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["team", "state", "-started_at", "id"], name="run_of_state"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["team", "-name", "id"], name="run_by_name"),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["team", "-trainers", "id"], name="run_by_size"),
        ),
        migrations.AddField(
            model_name="setting",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="settings", to="ingest.run"
            ),
        ),
        migrations.AddField(
            model_name="setting",
            name="team",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="teams.team"),
        ),
        migrations.AddField(
            model_name="standing",
            name="team",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="teams.team"),
        ),
        migrations.AddIndex(
            model_name="setting",
            index=models.Index(fields=["team", "path", "number", "run"], name="setting_number"),
        ),
        migrations.AddIndex(
            model_name="setting",
            index=models.Index(fields=["team", "path", "text", "run"], name="setting_text"),
        ),
        migrations.AddIndex(
            model_name="setting",
            index=models.Index(fields=["run", "path"], name="setting_of_run"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["team", "-rounds", "run"], name="standing_rounds"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["team", "-round_s", "run"], name="standing_round_s"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["team", "-waiting_share", "run"], name="standing_waiting_share"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["team", "-items_per_s", "run"], name="standing_items_per_s"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["team", "-duration_s", "run"], name="standing_duration_s"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["team", "-gpu_hours", "run"], name="standing_gpu_hours"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["team", "-longest_wait_share", "run"], name="standing_longest_wait_share"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["team", "-open_findings", "run"], name="standing_open_findings"),
        ),
        migrations.RunSQL(FORWARD, BACK),
    ]
