"""The formats in which a run is exported; a new one is a module and a line here."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from dashboard.runs.exports.pages import Progress, Slice
from ingest.models import Run


class Maker(Protocol):
    """Writes a slice of a file."""

    progress: Progress

    def advance(self, within: Slice) -> bool:
        """Write what there is time for; returns whether the file is complete."""

    def told(self) -> dict[str, Any]:
        """What another process needs to go on, as JSON has it."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name for people, what its file's name ends with, its media type, and who makes it."""

    key: str
    name: str
    about: str
    suffix: str
    media_type: str
    load: Callable[[], Callable[[Run, BinaryIO, dict[str, Any] | None], Maker]]

    def file_name(self, run: Run) -> str:
        """What a file of the run is called: its name as far as any file system takes it."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", run.name).strip("-.")[:64]
        return f"{plain or 'run'}-{str(run.pk)[:8]}{self.suffix}"


def _trace() -> type[Maker]:
    from dashboard.runs.exports.trace_file import TraceFile  # noqa: PLC0415 - see below

    return TraceFile


def _csv() -> type[Maker]:
    from dashboard.runs.exports.table_csv import CsvArchive  # noqa: PLC0415 - see below

    return CsvArchive


def _parquet() -> type[Maker]:
    # Only who makes one loads Arrow: it takes half a second and 60 MB.
    from dashboard.runs.exports.table_parquet import ParquetArchive  # noqa: PLC0415

    return ParquetArchive


FORMATS = {
    each.key: each
    for each in (
        Format(
            "perfetto", "Perfetto trace",
            "Every phase, round, event, gap and reading on one timeline, for ui.perfetto.dev and chrome://tracing.",
            "-trace.json.gz", "application/gzip", _trace,
        ),
        Format(
            "csv", "CSV",
            "Tables of phases, rounds and samples in a ZIP archive, for spreadsheets.",
            "-csv.zip", "application/zip", _csv,
        ),
        Format(
            "parquet", "Parquet",
            "The same tables with their types in a ZIP archive, for pandas, Polars and DuckDB.",
            "-parquet.zip", "application/zip", _parquet,
        ),
    )
}  # fmt: skip
