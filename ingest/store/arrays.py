"""Columns of values as Postgres' array literals: psycopg adapts lists value by value, which took a third of a write.

Syntax: https://www.postgresql.org/docs/current/arrays.html, "Array Input and Output Syntax".
"""

import datetime as dt
from collections.abc import Iterable


def numbers(values: Iterable[int | None]) -> str:
    """An array of integers; None is NULL."""
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


def truths(values: Iterable[bool]) -> str:
    """An array of booleans."""
    return "{" + ",".join(["t" if value else "f" for value in values]) + "}"


def times(values: Iterable[dt.datetime | None]) -> str:
    """An array of instants, each with its time zone; None is NULL."""
    return "{" + ",".join(["NULL" if value is None else f'"{value.isoformat()}"' for value in values]) + "}"


def texts(values: Iterable[str]) -> str:
    """An array of texts, whatever is in them but NUL, which Postgres does not store."""
    quoted = ['"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values]
    return "{" + ",".join(quoted) + "}"
