"""Tables that Django cannot describe: closed phases, events and samples in daily partitions, and a set of numbers.

Columns stand widest first, which saves the padding; there are no foreign keys and no unique keys beyond the stream's
`numbers`, which already says what is stored, because each would cost every row that is ever written.
"""

import datetime as dt

from django.db import migrations

from ingest import partitions

FORWARD = """
ALTER TABLE ingest_stream ADD COLUMN numbers int8multirange NOT NULL DEFAULT '{}';
-- These rows change with every batch; room on the page keeps the new version beside the old one, off the indexes.
ALTER TABLE ingest_stream SET (fillfactor = 50);
ALTER TABLE ingest_worker SET (fillfactor = 50);
ALTER TABLE ingest_round SET (fillfactor = 50);

CREATE TABLE ingest_phase (
    run_id uuid NOT NULL,
    worker_id bigint NOT NULL,
    stream_id bigint NOT NULL,
    number bigint NOT NULL,
    start_number bigint NOT NULL,
    parent bigint NOT NULL,
    begin_ns bigint NOT NULL,
    end_ns bigint NOT NULL,
    offset_ns bigint NOT NULL,
    arrived date NOT NULL,
    round integer NOT NULL,
    name_index integer NOT NULL,
    thread integer NOT NULL,
    kind smallint NOT NULL,
    state smallint NOT NULL,
    error_ns bigint,
    attrs jsonb
) PARTITION BY RANGE (arrived);
CREATE INDEX phase_time ON ingest_phase (run_id, begin_ns);
CREATE INDEX phase_round ON ingest_phase (run_id, round);
CREATE INDEX phase_identity ON ingest_phase (stream_id, start_number);

CREATE TABLE ingest_event (
    run_id uuid NOT NULL,
    worker_id bigint NOT NULL,
    stream_id bigint NOT NULL,
    number bigint NOT NULL,
    time_ns bigint NOT NULL,
    offset_ns bigint NOT NULL,
    arrived date NOT NULL,
    round integer NOT NULL,
    name_index integer NOT NULL,
    thread integer NOT NULL,
    error_ns bigint,
    attrs jsonb
) PARTITION BY RANGE (arrived);
CREATE INDEX event_time ON ingest_event (run_id, time_ns);

CREATE TABLE ingest_sample (
    series_id bigint NOT NULL,
    stream_id bigint NOT NULL,
    number bigint NOT NULL,
    time_ns bigint NOT NULL,
    value double precision NOT NULL,
    arrived date NOT NULL,
    round integer NOT NULL
) PARTITION BY RANGE (arrived);
CREATE INDEX sample_time ON ingest_sample (series_id, time_ns);
"""

BACKWARD = """
DROP TABLE ingest_sample;
DROP TABLE ingest_event;
DROP TABLE ingest_phase;
ALTER TABLE ingest_stream DROP COLUMN numbers;
"""


def _first_partitions(_apps: object, _schema_editor: object) -> None:
    partitions.ensure(dt.datetime.now(dt.UTC).date())


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_initial")]

    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.RunPython(_first_partitions, migrations.RunPython.noop),
    ]
