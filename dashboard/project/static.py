"""Static files as browsers get them: collected when one has changed, without comments, named by content, compressed."""

import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from re import Match
from typing import Any

import django
import servestatic
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.management.commands import collectstatic
from django.core.exceptions import SuspiciousFileOperation
from django.core.files import File
from django.core.files.base import ContentFile
from django.core.management import call_command
from servestatic.storage import CompressedManifestStaticFilesStorage

# Source maps of dependencies are half of all bytes, and nobody debugs those here.
_LEFT_OUT = ["*.map"]
_RECORD = "collected.json"
# Comments are a sixth of our modules on the wire. What dependencies say stays, their licences too.
_OURS = re.compile(r"(?:alerts|live|rw)/.*\.js")
# Five megabytes that import nothing: looking for imports in them, pass after pass, took two seconds of each collecting.
_WHOLE = "plotly/"
_COMMENT_LINES = re.compile(rb"^[ \t]*(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*)$", re.MULTILINE)


class HashedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc] # it has no types
    """Names each file by its content, so that browsers keep it for ever, and rewrites what ES modules import."""

    support_js_module_import_aggregation = True
    # Each pass settles the names of modules whose own imports are settled: as many as the longest chain of imports.
    # Modules that import each other in a circle have no such name at all, and are refused.
    max_post_process_passes = 40

    def save(self, name: str | None, content: "File[bytes]", max_length: int | None = None) -> str:
        """Keep our modules without their comments; lines stay where they are, for who reads an error of theirs."""
        if name and _OURS.fullmatch(name):
            code = _COMMENT_LINES.sub(lambda found: b"\n" * found[0].count(b"\n"), content.read())
            content = ContentFile(code)
        return str(super().save(name, content, max_length))

    def post_process(self, paths: dict[str, tuple[Any, str]], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Name our modules by what was saved of them instead of by their source."""
        saved = {name: (self, name) if _OURS.fullmatch(name) else place for name, place in paths.items()}
        yield from super().post_process(saved, *args, **kwargs)

    def _post_process(
        self, paths: dict[str, tuple[Any, str]], adjustable_paths: list[str], hashed_files: dict[str, str]
    ) -> Iterator[Any]:
        """Take out of what is to be adjusted, which the caller looks at again, what is large and whole."""
        adjustable_paths[:] = [name for name in adjustable_paths if not name.startswith(_WHOLE)]
        yield from super()._post_process(paths, adjustable_paths, hashed_files)

    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[Match[str]], str]:
        """Leave a reference as it is where nothing lies: a dependency's dead link must not keep us from starting."""
        convert = super().url_converter(name, hashed_files, template)

        def convert_known(found: Match[str]) -> str:
            try:
                return str(convert(found))
            except (ValueError, SuspiciousFileOperation):
                return found["matched"]

        return convert_known

    def add_stats_to_manifest(self) -> None:
        """Keep no sizes and times in the manifest: they would be those of the folder that is being replaced."""


def collect(folder: Path) -> bool:
    """Make `folder` hold the static files of today, all or none, and say whether that took more than a look.

    Raises OSError where they cannot be written, RuntimeError where ES modules import each other in a circle.
    """
    sources = _digest_of_sources()
    if _record(folder) == {"sources": sources, "files": _files(folder)}:
        return False
    fresh, former = folder.with_name(f"{folder.name}.new"), folder.with_name(f"{folder.name}.old")
    for left_over in (fresh, former):  # by a start that was killed
        shutil.rmtree(left_over, ignore_errors=True)
    command = collectstatic.Command()
    command.storage = HashedFiles(location=fresh)
    call_command(command, interactive=False, verbosity=0, ignore_patterns=[*_LEFT_OUT])
    (fresh / _RECORD).write_text(json.dumps({"sources": sources, "files": _files(fresh)}))
    if folder.exists():
        folder.rename(former)
    fresh.rename(folder)  # nothing stale is left: names of former contents went with the former folder
    shutil.rmtree(former, ignore_errors=True)
    return True


def _digest_of_sources() -> str:
    """Everything that decides what is collected, in one word; contents, because times of files come from archives."""
    digest = hashlib.sha256(repr((django.__version__, servestatic.__version__, sys.version_info)).encode())
    digest.update(Path(__file__).read_bytes())
    for finder in get_finders():
        for path, storage in finder.list(_LEFT_OUT):
            content = Path(storage.path(path)).read_bytes()
            digest.update(repr((path, len(content))).encode() + content)
    return digest.hexdigest()


def _record(folder: Path) -> object:
    try:
        return json.loads((folder / _RECORD).read_text())
    except (FileNotFoundError, ValueError):
        return None


def _files(folder: Path) -> dict[str, int]:
    """Bytes by name: a file that was deleted, or lost its content with the power, is noticed."""
    found = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    return {name: size for name, size in found.items() if name != _RECORD}
