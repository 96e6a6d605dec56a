"""The test database: quick where nothing is proved by slowness, and emptied of what a test left in it, no more."""

from functools import cache

import psycopg
from django.db import connection, transaction
from django.test import TransactionTestCase

# What is committed outlives every process that a test kills; of the machine's own end no test tells.
_QUICK = ("fsync", "full_page_writes")
# Nobody writes meanwhile. Whoever reads goes on, unlike with TRUNCATE, which also makes the files of each table anew.
_EMPTY = """
LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE;
SET LOCAL session_replication_role = replica;
DO $$
DECLARE
    each text;
    full_ boolean;
BEGIN
    FOREACH each IN ARRAY ARRAY[{texts}] LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', each) INTO full_;
        IF full_ THEN
            EXECUTE format('DELETE FROM %I', each);
        END IF;
    END LOOP;
END $$;
"""
# Django makes them with the tables, from the models alone; emptying them would have it make them after each test.
_OF_THE_MODELS = {"auth_permission", "django_content_type"}

_flushed = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]


def hurry(database_url: str) -> None:
    """Have a server of the tests' own not wait for its disk."""
    with psycopg.connect(database_url, autocommit=True) as admin:
        for setting in _QUICK:
            admin.execute(f"ALTER SYSTEM SET {setting} = off")
        admin.execute("SELECT pg_reload_conf()")


def empty_what_is_full() -> None:
    """Have each test that commits end by emptying the tables that hold something: Django's flush takes all of them."""
    TransactionTestCase._fixture_teardown = _emptied  # type: ignore[attr-defined]


def _emptied(case: TransactionTestCase) -> None:
    if not _may_skip_triggers():
        _flushed(case)
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_statement())


@cache
def _may_skip_triggers() -> bool:
    """Whether rows may go in any order, which takes a superuser: of servers of its own a test has one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        return bool(cursor.fetchone()[0])


@cache
def _statement() -> str:
    found = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    with (
        connection.cursor() as cursor
    ):  # those whose days are partitions are no models' to make, and so not among these
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace = current_schema()::regnamespace"
        )
        found.update(name for (name,) in cursor.fetchall())
    tables = sorted(found - _OF_THE_MODELS)
    return _EMPTY.format(
        names=", ".join(map(connection.ops.quote_name, tables)), texts=", ".join(f"'{name}'" for name in tables)
    )
