"""Tables as Parquet: one file each, or a folder of parts where a table took several slices."""

import io
import zlib
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from dashboard.runs.exports.table_archive import TableArchive
from dashboard.runs.exports.tables import Kind, Row, Table
from dashboard.runs.exports.zipping import STORED, Entry

_TYPES = {
    Kind.TEXT: pa.string(), Kind.INTEGER: pa.int64(), Kind.NUMBER: pa.float64(), Kind.FLAG: pa.bool_(),
    Kind.TIME: pa.timestamp("us", tz="UTC"), Kind.JSON: pa.string(),
}  # fmt: skip
_MOST_ROWS = 1_000_000  # in one part, which is made in memory


class ParquetPiece:
    """A part of a table."""

    def __init__(self, file: BinaryIO, entries: list[Entry], table: Table) -> None:
        """Begin a part."""
        self._file, self._entries, self._table = file, entries, table
        self._schema = pa.schema([(name, _TYPES[kind]) for name, kind in table.columns.items()])
        self._buffer = io.BytesIO()
        self._writer = pq.ParquetWriter(self._buffer, self._schema, compression="zstd")
        self._rows = 0

    def add(self, rows: list[Row]) -> None:
        """Write rows, as a row group."""
        columns = zip(*rows, strict=True) if rows else [() for _ in self._schema]
        kinds = self._table.columns.values()
        arrays = [_array(kind, column) for kind, column in zip(kinds, columns, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows += len(rows)

    def close(self, *, last: bool) -> None:
        """Put the part into the archive."""
        self._writer.close()
        data, name = self._buffer.getvalue(), self._table.name
        before = sum(entry.name.startswith(f"{name}/") for entry in self._entries)
        path = f"{name}.parquet" if last and not before else f"{name}/{before:05}.parquet"
        entry = Entry(path, STORED, self._file.tell(), zlib.crc32(data), len(data), len(data))
        self._entries.append(entry)
        self._file.write(entry.head + data)

    def is_full(self) -> bool:
        """Whether another part should begin."""
        return self._rows >= _MOST_ROWS


class ParquetArchive(TableArchive):
    """Parquet files for each table."""

    piece = ParquetPiece


def _array(kind: Kind, values: Any) -> Any:
    if kind is Kind.JSON:
        values = [None if value is None else msgspec.json.encode(value).decode() for value in values]
    return pa.array(values, _TYPES[kind])
