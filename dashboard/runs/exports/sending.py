"""Files of exports as answers: from disk, or as they are made, never whole in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from dashboard.runs.exports.formats import FORMATS, Format
from dashboard.runs.exports.making import path_of
from dashboard.runs.exports.trace_file import at_once
from ingest.models import Export, Run
from ingest.queries import exported

# Made by the web server itself, which also takes telemetry in: a second of its time.
MOST_AT_ONCE = 20_000
_CHUNK = 256 * 1024


def is_short(run: Run) -> bool:
    """Whether the run's trace may be made while it is being sent."""
    return exported.count(run, MOST_AT_ONCE + 1) <= MOST_AT_ONCE


def trace(run: Run) -> StreamingHttpResponse:
    """The run's trace, made while it is sent."""
    form = FORMATS["perfetto"]
    return _answer(_each(at_once(run)), form, form.file_name(run))


def file(export: Export, run: Run) -> StreamingHttpResponse:
    """The export's file; raises FileNotFoundError where it has been removed."""
    path, form = path_of(export.pk), FORMATS[export.format]
    size = path.stat().st_size
    answer = _answer(_chunks(path), form, form.file_name(run))
    answer["Content-Length"] = str(size)
    return answer


def _answer(chunks: AsyncIterator[bytes], form: Format, name: str) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(chunks, content_type=form.media_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "private, no-store"
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


async def _each(made: Iterator[bytes]) -> AsyncIterator[bytes]:
    # Each page in the request's own thread, which holds its database connection and gives it back at the end.
    after: Callable[[Iterator[bytes]], bytes | None] = lambda iterator: next(iterator, None)  # noqa: E731
    while (chunk := await sync_to_async(after)(made)) is not None:
        yield chunk


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    # The disk may take its time: the loop has others to serve.
    with await asyncio.to_thread(path.open, "rb") as opened:
        while chunk := await asyncio.to_thread(opened.read, _CHUNK):
            yield chunk
