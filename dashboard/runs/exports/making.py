"""Makes an export slice by slice, so that no worker is held for long and none that dies loses more than one slice."""

import logging
import os
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from dashboard.runs.exports.formats import FORMATS
from dashboard.runs.exports.pages import Slice
from ingest.feed.starting import start
from ingest.models import Export
from ingest.queries import exported
from ingest.queries import exports as queries
from ingest.store import exports

_log = logging.getLogger(__name__)
_SLICE_S = 7.0  # what is begun then is a page, which with all around it takes some seconds at most


_MOST_COUNTED = 2_000_000  # of phases, events and samples each: beyond it how far an export is, is not known


def path_of(export_id: UUID) -> Path:
    """Where an export's file lies."""
    return Path(settings.EXPORTS) / str(export_id)


def make_slice(export_id: UUID, within_s: float = _SLICE_S) -> None:
    """Get an export on by a slice, if nobody else is at it, and ask for the next one."""
    export = exports.take(export_id)
    if export is None:
        return
    try:
        is_done = _advance(export, Slice.of(within_s))
    except OSError as problem:
        exports.failed(export, f"The file could not be written: {(problem.strerror or str(problem)).lower()}.")
        _log.warning("export %s could not be written: %s", export_id, problem)
    except Exception:  # noqa: BLE001 - whatever it was, the next try may do better, and the page says so
        exports.failed(export, "An unexpected error; the server's log says more.")
        _log.exception("export %s", export_id)
    else:
        if not is_done:
            start(exports.MAKE, str(export_id))


def _advance(export: Export, within: Slice) -> bool:
    known, run, path = export.cursor, export.run, path_of(export.pk)
    total = export.records_total
    if total is None:
        total = exported.count(run, _MOST_COUNTED)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b") as file:
        # What a slice wrote that did not get so far as to say so is written again.
        file.truncate(export.file_bytes if known else 0)
        file.seek(0, os.SEEK_END)
        maker = FORMATS[export.format].load()(run, file, known and known["maker"])
        is_done = maker.advance(within)
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    cursor = None if is_done else {"maker": maker.told()}
    exports.got_on(export, cursor=cursor, records=maker.progress.records, total=total, file_bytes=size)
    return is_done


def sweep() -> None:
    """Remove exports whose time is over, and files that no export names any more, as after a run was deleted."""
    exports.forget_expired(timezone.now())
    folder = Path(settings.EXPORTS)
    if not folder.is_dir():
        return
    # Rows are there before their files are, so that a file without one has lost it.
    files = {key: path for path in folder.iterdir() if (key := _key(path)) is not None}
    for key in files.keys() - queries.known(list(files)):
        files[key].unlink(missing_ok=True)


def _key(path: Path) -> UUID | None:
    try:
        return UUID(path.name)
    except ValueError:
        return None
