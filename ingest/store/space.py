"""Space of deleted rows: Postgres uses it again once it has been told which rows are gone (VACUUM)."""

import datetime as dt
import logging

from django.db import connection
from django.utils import timezone
from psycopg import sql

from ingest.models import Deletion
from ingest.partitions import TABLES, existing, name_of

_log = logging.getLogger(__name__)
_AT_A_TIME = 20


def reclaim() -> list[str]:
    """Make the space of finished deletions usable again; returns the tables that were gone through.

    Postgres does so by itself only where a fifth of a table has changed. It must be called outside of any transaction,
    and may take minutes on large tables, which are read and written meanwhile.
    """
    due = list(Deletion.objects.filter(done_at__isnull=False, reclaimed_at=None).order_by("done_at")[:_AT_A_TIME])
    if not due:
        return []
    tables = sorted({name for one in due for name in _partitions(one.first_day, one.last_day)})
    for table in tables:
        _vacuum(table)
    Deletion.objects.filter(pk__in=[one.pk for one in due]).update(reclaimed_at=timezone.now())
    return tables


def _partitions(first: dt.date, last: dt.date) -> list[str]:
    return [name_of(table, day) for table in TABLES for day in existing(table) if first <= day <= last]


def _vacuum(table: str) -> None:
    statement = sql.SQL("VACUUM (SKIP_LOCKED, INDEX_CLEANUP ON, PROCESS_TOAST) {}").format(sql.Identifier(table))
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(connection.connection))
    _log.info("the space of deleted rows in %s may be used again", table)
