"""Daily partitions of phases, events and samples: made ahead of time, dropped when their retention is over."""

import datetime as dt
import re

from django.db import connection, transaction
from psycopg import sql

TABLES = ("ingest_phase", "ingest_event", "ingest_sample")
DAYS_AHEAD = 3
_ONE_DAY = dt.timedelta(days=1)
# Makers of the same partition wait for each other; the number only has to differ from our other locks.
_LOCK = 7_201_001
_known: set[dt.date] = set()


def ensure(first: dt.date, days_ahead: int = DAYS_AHEAD) -> None:
    """Make the partitions of `first` (UTC) and the `days_ahead` days after it where they are missing."""
    for day in (first + n * _ONE_DAY for n in range(days_ahead + 1)):
        for table in TABLES:
            _make(table, day)
        _known.add(day)


def ready(day: dt.date) -> None:
    """Make sure, once per process and day, that rows arriving on `day` find their partitions."""
    if day not in _known:
        ensure(day, days_ahead=0)


def forget() -> None:
    """Look again at what exists: after a database error that may mean that a partition is gone."""
    _known.clear()


def existing(table: str) -> list[dt.date]:
    """The days for which `table` has an attached partition, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass AND NOT inhdetachpending",
            [table],
        )
        return sorted(day for (name,) in cursor.fetchall() if (day := _day_of(table, name)))


def drop_before(table: str, day: dt.date) -> list[dt.date]:
    """Drop the partitions of `table` for the days before `day`; returns those days.

    Detaching concurrently lets readers and writers go on; it runs outside any transaction, never in an ingest
    request.
    """
    _finish_detaching(table)
    old = [found for found in existing(table) if found < day]
    for found in old:
        name = _name(table, found)
        _run("ALTER TABLE {} DETACH PARTITION {} CONCURRENTLY", table, name)
        _run("DROP TABLE {}", name)
        _known.discard(found)
    _drop_detached(table, day)
    return old


def make_room(first: dt.date, last: dt.date) -> list[str]:
    """Have Postgres use the space of deleted rows again, in the partitions of these days; returns their names.

    By itself it does so only where a fifth of a table has changed. It runs outside any transaction, and may take
    minutes on large partitions, which are read and written meanwhile.
    """
    names = [_name(table, day) for table in TABLES for day in existing(table) if first <= day <= last]
    for name in names:
        _run("VACUUM (SKIP_LOCKED, INDEX_CLEANUP ON) {}", name)
    return names


def _make(table: str, day: dt.date) -> None:
    name = _name(table, day)
    if _attached(name):
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if _attached(name):
            return
        # LIKE and ATTACH, not PARTITION OF: that would lock writers of the whole table out.
        _run("CREATE TABLE IF NOT EXISTS {} (LIKE {} INCLUDING ALL EXCLUDING INDEXES)", name, table)
        bounds = f"FROM ('{day}') TO ('{day + _ONE_DAY}')"
        _run("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES " + bounds, table, name)


def _attached(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(%s)", [name])
        return cursor.fetchone() is not None


def _finish_detaching(table: str) -> None:
    """Complete a detachment that a crash left half done; Postgres allows no other until then."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass AND inhdetachpending",
            [table],
        )
        pending = [name for (name,) in cursor.fetchall()]
    for name in pending:
        _run("ALTER TABLE {} DETACH PARTITION {} FINALIZE", table, name)


def _drop_detached(table: str, day: dt.date) -> None:
    """Drop old tables that a crash left between DETACH and DROP."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE %s AND relkind = 'r' AND NOT relispartition",
            [f"{table}\\_%"],
        )
        names = [name for (name,) in cursor.fetchall() if (found := _day_of(table, name)) and found < day]
    for name in names:
        _run("DROP TABLE {}", name)


def _run(template: str, *names: str) -> None:
    """Execute a statement whose `{}` are names of tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL(template).format(*(sql.Identifier(name) for name in names)).as_string(connection.connection)
        )


def _name(table: str, day: dt.date) -> str:
    return f"{table}_{day:%Y%m%d}"


def _day_of(table: str, name: str) -> dt.date | None:
    match = re.fullmatch(rf"{table}_(\d{{8}})", name)
    return dt.datetime.strptime(match[1], "%Y%m%d").replace(tzinfo=dt.UTC).date() if match else None
