"""Columns of numbers straight into arrays: Postgres sends each as one array, whose binary form has a fixed width."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from django.db.backends.utils import CursorWrapper
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

Columns = dict[str, npt.NDArray[Any]]

_HEADER_BYTES = 20  # one dimension: its count, flags and element type before, its size and lower bound after
_FORMS = {"int8": ">i8", "int4": ">i4", "float8": ">f8"}


class _Raw(Loader):
    """Leaves a value as Postgres sent it."""

    format = Format.BINARY

    def load(self, data: Buffer) -> bytes:
        return bytes(data)


def read_columns(cursor: CursorWrapper, select: str, parameters: Sequence[Any], types: Mapping[str, str]) -> Columns:
    """Run `select` and return its columns by name, in the order of its rows and in native byte order.

    `types` gives each column of `select`, in order, its Postgres type (int8, int4, float8). Raises ValueError where a
    row holds a null.
    """
    arrays = ", ".join(f"array_agg({name}::{of})" for name, of in types.items())
    # Rows fetched one by one, or by COPY, cost Python a call each: a second for 200,000 of them.
    query = f"SELECT {arrays} FROM ({select}) AS t ({', '.join(types)})"  # noqa: S608 - only our own words are put in
    with cursor.db.wrap_database_errors, psycopg.Cursor(cursor.connection) as reader:
        for of in set(types.values()):
            reader.adapters.register_loader(reader.adapters.types.get_oid(f"{of}[]"), _Raw)
        values = reader.execute(query, parameters, binary=True).fetchone()
    return {name: _column(value, of) for (name, of), value in zip(types.items(), values or (), strict=True)}


def _column(value: bytes | None, of: str) -> npt.NDArray[Any]:
    form = np.dtype(_FORMS[of])
    element = np.dtype([("bytes", ">i4"), ("value", form)])
    body = memoryview(value or b"")[_HEADER_BYTES:]
    if len(body) % element.itemsize or (value and int.from_bytes(value[4:8], "big")):
        raise ValueError("a column holds a null")
    return np.frombuffer(body, element)["value"].astype(form.newbyteorder("="))
