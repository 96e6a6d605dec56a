"""The trace of a run as a gzip file that grows in pieces, and as bytes that leave at once."""

from collections.abc import Iterator
from typing import Any, BinaryIO

from dashboard.runs.exports import trace_events
from dashboard.runs.exports.deflating import GZIP_HEAD, Deflater, Sum, gzip_tail
from dashboard.runs.exports.pages import Progress, Slice, walk
from dashboard.runs.exports.trace import Trace
from ingest.models import Run


class TraceFile:
    """Writes a slice of the file; `known` is what `told` said after the one before."""

    def __init__(self, run: Run, file: BinaryIO, known: dict[str, Any] | None) -> None:
        """Begin, or go on at the file's end."""
        self._run, self._file = run, file
        self._is_new = known is None
        self._trace = Trace(run, known and known["trace"])
        self._sum = Sum(*known["sum"]) if known else Sum()
        self.progress = Progress.of(known) if known else Progress()

    def advance(self, within: Slice) -> bool:
        """Write what there is time for; returns whether the file is complete."""
        deflater, steps = Deflater(self._sum), self._trace.steps()
        if self._is_new:
            self._file.write(GZIP_HEAD + deflater.add(self._trace.head()))
        for data in walk(steps, self.progress, within):
            self._file.write(deflater.add(data))
        if self.progress.step < len(steps):
            self._file.write(deflater.pause())
            return False
        self._file.write(deflater.add(trace_events.TAIL) + deflater.end() + gzip_tail(self._sum))
        return True

    def told(self) -> dict[str, Any]:
        """What another process needs to go on, as JSON has it."""
        return self.progress.told() | {"trace": self._trace.told(), "sum": [self._sum.crc, self._sum.length]}


def at_once(run: Run) -> Iterator[bytes]:
    """The same file, page by page as it is read."""
    trace, total = Trace(run, None), Sum()
    deflater = Deflater(total)
    yield GZIP_HEAD + deflater.add(trace.head())
    for data in walk(trace.steps(), Progress(), Slice(float("inf"))):
        if packed := deflater.add(data):
            yield packed
    yield deflater.add(trace_events.TAIL) + deflater.end() + gzip_tail(total)
