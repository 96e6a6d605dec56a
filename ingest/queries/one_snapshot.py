"""Several reads that see the same moment of the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper


@contextmanager
def one_snapshot() -> Iterator[CursorWrapper]:
    """A REPEATABLE READ, READ ONLY transaction; raises RuntimeError inside of another, which could not be one."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield cursor
