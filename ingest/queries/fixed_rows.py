"""Rows of numbers straight into arrays: in Postgres' binary COPY, columns that are never null have a fixed width."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.backends.utils import CursorWrapper

Columns = dict[str, npt.NDArray[Any]]

_HEADER_BYTES = 19  # signature, flags and an empty extension area
_TRAILER_BYTES = 2
_FORMS = {"int8": ">i8", "int4": ">i4", "int2": ">i2", "float8": ">f8"}


def read_columns(cursor: CursorWrapper, select: str, parameters: Sequence[Any], types: Mapping[str, str]) -> Columns:
    """Run `select` and return its columns by name, in native byte order.

    `types` gives each column of `select`, in order, its Postgres type (int8, int4, int2, float8). Raises ValueError
    where a row holds a null or another type.
    """
    statement = f"COPY ({select}) TO STDOUT (FORMAT binary)"
    with cursor.db.wrap_database_errors, cursor.copy(statement, parameters) as copy:
        data = b"".join(copy)
    row = np.dtype(
        [("fields", ">i2"), *((f"{part}{name}", form) for name, of in types.items() for part, form in _field(of))]
    )
    body = memoryview(data)[_HEADER_BYTES : len(data) - _TRAILER_BYTES]
    if len(body) % row.itemsize:
        raise ValueError("a row holds a null or a type that was not named")
    rows = np.frombuffer(body, row)
    if any((rows[f"length {name}"] != row[name].itemsize).any() for name in types):
        raise ValueError("a row holds a null or a type that was not named")
    return {name: rows[name].astype(row[name].newbyteorder("=")) for name in types}


def _field(of: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("length ", ">i4"), ("", _FORMS[of])
