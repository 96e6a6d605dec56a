"""Columns as the bytes of a binary COPY: whole tables at once, since a call per row costs more than Postgres
does.

Format: https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format".
"""

import datetime as dt
import functools
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import sql

_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = struct.pack(">h", -1)
_POSTGRES_EPOCH = dt.date(2000, 1, 1)
_JSONB_VERSION = 1
_SIZES = {">i8": 8, ">i4": 4, ">i2": 2, ">f8": 8, "V16": 16}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: Postgres' name, the bytes of a value as a numpy type, and values (an array, or one for all
    rows).

    A value of None is NULL in all rows.
    """

    name: str
    form: str
    values: Any


def big(name: str, values: Any) -> Column:
    """A bigint column."""
    return Column(name, ">i8", values)


def integer(name: str, values: Any) -> Column:
    """An integer column."""
    return Column(name, ">i4", values)


def small(name: str, values: Any) -> Column:
    """A smallint column."""
    return Column(name, ">i2", values)


def double(name: str, values: Any) -> Column:
    """A double precision column."""
    return Column(name, ">f8", values)


def uuid(name: str, value: UUID) -> Column:
    """A uuid column with one value for all rows."""
    return Column(name, "V16", np.void(value.bytes))


def date(name: str, value: dt.date) -> Column:
    """A date column with one value for all rows."""
    return Column(name, ">i4", (value - _POSTGRES_EPOCH).days)


def pack(count: int, columns: Sequence[Column], json: Sequence[bytes | None] | None = None) -> bytes:
    """`count` rows; `json`, where given, is one more jsonb column at the end, None for NULL."""
    layout, blank = _layout(
        tuple((each.name, None if each.values is None else each.form) for each in columns), json is not None
    )
    raw = bytearray(blank * count)
    rows = np.frombuffer(raw, layout)
    for column in columns:
        if column.values is not None:
            rows[column.name] = column.values
    return bytes(raw) if json is None else _with_json(bytes(raw), layout.itemsize, json)


@functools.lru_cache(64)
def _layout(columns: tuple[tuple[str, str | None], ...], json: bool) -> tuple[np.dtype[np.void], bytes]:  # noqa: FBT001
    """How a row lies in memory, and one whose values are still to be filled in; a column without form is NULL."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for name, form in columns:
        fields += [(f"{name} length", ">i4"), *([(name, form)] if form else [])]
    if json:
        fields.append(("json length", ">i4"))
    blank = np.zeros(1, np.dtype(fields))
    blank["fields"] = len(columns) + json
    for name, form in columns:
        blank[f"{name} length"] = _SIZES[form] if form else -1
    if json:
        blank["json length"] = -1
    return blank.dtype, blank.tobytes()


def _with_json(raw: bytes, width: int, json: Sequence[bytes | None]) -> bytes:
    """Put each row's JSON in the place of the NULL that ends it."""
    pieces, reached = [], 0
    for index, text in enumerate(json):
        if text is not None:
            end = (index + 1) * width
            pieces += [raw[reached : end - 4], struct.pack(">ib", len(text) + 1, _JSONB_VERSION), text]
            reached = end
    return b"".join([*pieces, raw[reached:]])


def copy(cursor: CursorWrapper, table: str, columns: Sequence[str], packed: Sequence[bytes]) -> None:
    """Append packed rows to a table. All must have been packed with these columns, in this order."""
    if not packed:
        return
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    # Django turns psycopg's errors into its own for its own methods only.
    with connection.wrap_database_errors, cursor.copy(statement) as target:
        target.write(b"".join([_HEADER, *packed, _TRAILER]))
