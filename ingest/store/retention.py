"""What grows too old: days drop as whole partitions, a team's shorter retention deletes its rows in slices.

Where a team keeps its runs for so many days only, a run is deleted with all that is known of it.
"""

import datetime as dt
import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

PHASE_DAYS = 90
SAMPLE_DAYS = 14
DAYS = {"ingest_phase": PHASE_DAYS, "ingest_event": PHASE_DAYS, "ingest_sample": SAMPLE_DAYS}
_SLICE = 20_000

# By the table's name: this room knows that there are teams, but may not import theirs.
_TEAMS = """
SELECT id, least(coalesce(phase_days, %s), %s), least(coalesce(sample_days, %s), %s) FROM teams_team
WHERE phase_days < %s OR sample_days < %s
"""
_TOO_OLD = """
SELECT r.id FROM teams_team t JOIN ingest_run r ON r.team_id = t.id
WHERE t.summary_days IS NOT NULL AND r.heard_at < (%s::date - t.summary_days)::timestamp AT TIME ZONE 'UTC'
  AND NOT EXISTS (SELECT FROM ingest_deletion d WHERE d.run_id = r.id)
ORDER BY r.heard_at LIMIT %s
"""
# The row's place, for a partitioned table has no key that says which rows come first.
_OLD = """
DELETE FROM {table} WHERE (tableoid, ctid) IN (
    SELECT old.tableoid, old.ctid FROM {table} old JOIN ingest_stream s ON s.id = old.stream_id
    WHERE s.team_id = %s AND old.arrived < %s LIMIT %s)
"""


@dataclass(frozen=True, slots=True)
class _Shorter:
    team: UUID
    table: str
    before: dt.date


def oldest_day(table: str, today: dt.date) -> dt.date:
    """The first day of `table` that is kept."""
    return today - dt.timedelta(days=DAYS[table])


def delete_for_teams(today: dt.date, within_s: float = 10.0) -> int:
    """Delete rows that are too old for their team, for at most about `within_s` seconds; returns how many."""
    deadline, deleted = time.monotonic() + within_s, 0
    for rule in _rules(today):
        while (count := _delete(rule)) and time.monotonic() < deadline:
            deleted += count
        deleted += count
    return deleted


def runs_too_old(today: dt.date, most: int = 200) -> list[UUID]:
    """The runs of which nothing was heard for longer than their teams keep them, the oldest first, at most `most`."""
    with connection.cursor() as cursor:
        cursor.execute(_TOO_OLD, [today, most])
        return [key for (key,) in cursor.fetchall()]


def _rules(today: dt.date) -> Iterator[_Shorter]:
    with connection.cursor() as cursor:
        cursor.execute(_TEAMS, [PHASE_DAYS, PHASE_DAYS, SAMPLE_DAYS, SAMPLE_DAYS, PHASE_DAYS, SAMPLE_DAYS])
        teams = cursor.fetchall()
    for team, phase_days, sample_days in teams:
        for table, days in (
            ("ingest_phase", phase_days),
            ("ingest_event", phase_days),
            ("ingest_sample", sample_days),
        ):
            if days < DAYS[table]:
                yield _Shorter(team, table, today - dt.timedelta(days=days))


def _delete(rule: _Shorter) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_OLD.format(table=rule.table), [rule.team, rule.before, _SLICE])
        return int(cursor.rowcount)
