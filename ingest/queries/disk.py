"""What uses the disk: each daily partition as Postgres measures it, and about how much each run and machine brought."""

import datetime as dt
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from ingest.models import Deletion, Export

_TABLES = ("ingest_phase", "ingest_event", "ingest_sample")
# A partition's bytes with its indexes and what lies beside it, and its rows as last counted.
_PARTITIONS = """
SELECT c.relname, pg_total_relation_size(c.oid), greatest(c.reltuples, 0)::bigint
FROM pg_partition_tree(%s::regclass) AS tree JOIN pg_class c ON c.oid = tree.relid WHERE tree.isleaf
ORDER BY c.relname DESC
"""
_DATABASE = "SELECT pg_database_size(current_database())"
# What was stored of a run in days that were dropped since is gone: of days that no row tells, each had as much.
_RUNS = """
SELECT r.id, r.project, r.name, r.first_day, r.last_day, r.ended_at IS NULL,
       floor(sum(s.stored_count) * greatest(0, r.last_day - greatest(r.first_day, %(from)s::date) + 1)
             / (r.last_day - r.first_day + 1))::bigint AS records
FROM ingest_run r JOIN ingest_stream s ON s.run_id = r.id
WHERE r.team_id = %(team)s AND r.last_day >= %(from)s
  AND NOT EXISTS (SELECT FROM ingest_deletion d WHERE d.run_id = r.id)
GROUP BY r.id ORDER BY records DESC, r.id LIMIT %(most)s
"""
_ALL_RUNS = """
SELECT count(DISTINCT r.id), coalesce(sum(
           s.stored_count * greatest(0, r.last_day - greatest(r.first_day, %(from)s::date) + 1)
           / (r.last_day - r.first_day + 1)), 0)::bigint
FROM ingest_run r JOIN ingest_stream s ON s.run_id = r.id WHERE r.team_id = %(team)s AND r.last_day >= %(from)s
"""
_MACHINES = """
SELECT count(DISTINCT machine), coalesce(sum(stored_count * least(1, greatest(0, extract(epoch FROM
           heard_at - greatest(began_at, %(from)s::timestamptz))) / greatest(extract(epoch FROM heard_at - began_at), 1)
       )), 0)::bigint
FROM ingest_stream WHERE team_id = %(team)s AND run_id IS NULL AND NOT deleted AND heard_at >= %(from)s::timestamptz
"""
# Bytes of a row with its share of the indexes, until Postgres has counted rows.
_USUAL_BYTES = 180


@dataclass(frozen=True, slots=True)
class Partition:
    """A day of a table: its bytes, indexes included, and about how many rows."""

    table: str
    day: dt.date
    file_bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class RunUsage:
    """About how much is kept of a run; `first_day` and `last_day` are those on which it arrived."""

    run_id: UUID
    project: str
    name: str
    first_day: dt.date
    last_day: dt.date
    is_going: bool
    records: int
    about_bytes: int


@dataclass(frozen=True, slots=True)
class TeamUsage:
    """About how much is kept of a team: records and bytes of its runs and of its machines, and its exports' files."""

    runs: int
    run_records: int
    run_bytes: int
    machines: int
    machine_records: int
    machine_bytes: int
    exports: int
    export_bytes: int


def partitions() -> list[Partition]:
    """Every daily partition, the newest first in each table."""
    found = []
    with connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(_PARTITIONS, [table])
            found += [Partition(table, _day_of(name), size, rows) for name, size, rows in cursor.fetchall()]
    return found


def _day_of(name: str) -> dt.date:
    return dt.datetime.strptime(name[-8:], "%Y%m%d").replace(tzinfo=dt.UTC).date()


def database_bytes() -> int:
    """All of the database."""
    with connection.cursor() as cursor:
        cursor.execute(_DATABASE)
        return int(cursor.fetchone()[0])


def bytes_of_a_row() -> float:
    """The mean over all partitions, indexes included."""
    counted = [one for one in partitions() if one.rows]
    rows = sum(one.rows for one in counted)
    return sum(one.file_bytes for one in counted) / rows if rows else _USUAL_BYTES


def largest_runs(team: UUID, since: dt.date, most: int) -> list[RunUsage]:
    """The team's runs of which most is kept since a day, the largest first, without those that are being deleted."""
    each = bytes_of_a_row()
    with connection.cursor() as cursor:
        cursor.execute(_RUNS, {"team": team, "from": since, "most": most})
        return [
            RunUsage(key, project, name, first, last, is_going, records, round(records * each))
            for key, project, name, first, last, is_going, records in cursor.fetchall()
        ]


def of_team(team: UUID, since: dt.date, samples_since: dt.date) -> TeamUsage:
    """All that is kept of a team: of runs since a day, of machines since another."""
    each = bytes_of_a_row()
    files = Export.objects.filter(team=team).values_list("file_bytes", flat=True)
    with connection.cursor() as cursor:
        cursor.execute(_ALL_RUNS, {"team": team, "from": since})
        runs, run_records = cursor.fetchone()
        cursor.execute(_MACHINES, {"team": team, "from": samples_since})
        machines, machine_records = cursor.fetchone()
    return TeamUsage(
        runs, run_records, round(run_records * each), machines, machine_records, round(machine_records * each),
        len(files), sum(files),
    )  # fmt: skip


def deletions(team: UUID, most: int) -> list[Deletion]:
    """The team's deletions, the newest first."""
    return list(Deletion.objects.filter(team=team).order_by("-begun_at")[:most])
