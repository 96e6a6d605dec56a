"""Tables as CSV (RFC 4180, UTF-8) that a spreadsheet reads as what they are: no text of theirs becomes a formula."""

import csv
import io
from collections.abc import Iterable
from typing import Any, BinaryIO

import msgspec

from dashboard.runs.api.shapes import time_of
from dashboard.runs.exports.deflating import Deflater, Sum
from dashboard.runs.exports.table_archive import TableArchive
from dashboard.runs.exports.tables import Kind, Row, Table
from dashboard.runs.exports.zipping import DEFLATED, Entry, write_again

# What makes a spreadsheet compute a text: https://owasp.org/www-community/attacks/CSV_Injection, full width included.
_COMPUTES = tuple("=+-@\t\r\n＝＋－＠")


class CsvPiece:
    """A stretch of a table's one file."""

    def __init__(self, file: BinaryIO, entries: list[Entry], table: Table) -> None:
        """Begin at the file's end, with the columns' names where nothing of the table is there yet."""
        self._file, self._table = file, table
        name = f"{table.name}.csv"
        is_new = not entries or entries[-1].name != name
        if is_new:
            entries.append(Entry(name, DEFLATED, file.tell()))
            file.write(entries[-1].head)
        self._entry = entries[-1]
        self._sum = Sum(self._entry.crc, self._entry.length)
        self._from = file.tell()
        self._deflater = Deflater(self._sum)
        if is_new:
            self._write([tuple(table.columns)])

    def add(self, rows: list[Row]) -> None:
        """Write rows."""
        kinds = tuple(self._table.columns.values())
        self._write([_cell(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in rows)

    def close(self, *, last: bool) -> None:
        """Write the rest, and into the entry's head what there is of it now."""
        self._file.write(self._deflater.end() if last else self._deflater.pause())
        self._entry.crc, self._entry.length = self._sum.crc, self._sum.length
        self._entry.packed += self._file.tell() - self._from
        write_again(self._file, self._entry)

    def is_full(self) -> bool:
        """It never is: all of the table is one file."""
        return False

    def _write(self, rows: Iterable[Iterable[Any]]) -> None:
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        self._file.write(self._deflater.add(text.getvalue().encode()))


class CsvArchive(TableArchive):
    """A CSV file for each table."""

    piece = CsvPiece


def _cell(kind: Kind, value: Any) -> Any:
    if value is None:
        return ""
    if kind is Kind.TIME:
        return time_of(value * 1000)
    if kind is Kind.FLAG:
        return "true" if value else "false"
    if kind is Kind.JSON:
        return msgspec.json.encode(value).decode()
    return harmless(value) if kind is Kind.TEXT else value


def harmless(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would compute it."""
    return f"'{text}" if text.startswith(_COMPUTES) else text
