"""The tables of a run in one ZIP archive that grows in pieces: as CSV one file each, as Parquet one or a few."""

from typing import Any, BinaryIO, Protocol

from dashboard.runs.exports.pages import PAGE, Progress, Slice
from dashboard.runs.exports.tables import TABLES, Row, Table
from dashboard.runs.exports.zipping import Entry, tail
from ingest.models import Run


class Piece(Protocol):
    """What a slice writes of one table."""

    def __init__(self, file: BinaryIO, entries: list[Entry], table: Table) -> None:
        """Begin at the file's end."""

    def add(self, rows: list[Row]) -> None:
        """Write rows."""

    def close(self, *, last: bool) -> None:
        """Write the rest; `last` says that the table ends with it."""

    def is_full(self) -> bool:
        """Whether it has grown so much that another one should begin."""


class TableArchive:
    """Writes a slice of the file; `known` is what `told` said after the one before."""

    piece: type[Piece]

    def __init__(self, run: Run, file: BinaryIO, known: dict[str, Any] | None) -> None:
        """Begin, or go on at the file's end."""
        self._run, self._file = run, file
        self._entries = [Entry(**one) for one in known["entries"]] if known else []
        self.progress = Progress.of(known) if known else Progress()

    def advance(self, within: Slice) -> bool:
        """Write what there is time for; returns whether the file is complete."""
        while self.progress.step < len(TABLES) and within.goes_on():
            self._write_piece(TABLES[self.progress.step], within)
        if self.progress.step < len(TABLES):
            return False
        self._file.write(tail(self._entries, self._file.tell()))
        return True

    def told(self) -> dict[str, Any]:
        """What another process needs to go on, as JSON has it."""
        return self.progress.told() | {"entries": [entry.told() for entry in self._entries]}

    def _write_piece(self, table: Table, within: Slice) -> None:
        piece, step = self.piece(self._file, self._entries, table), self.progress.step
        while True:
            page = table.read(self._run, self.progress.place, PAGE)
            piece.add(page.items)
            self.progress.passed(len(page.items), page.next)
            if self.progress.step > step or piece.is_full() or not within.goes_on():
                break
        piece.close(last=self.progress.step > step)
