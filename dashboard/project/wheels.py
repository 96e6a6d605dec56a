"""JavaScript out of installed wheels that are no Django apps: single files, found for pages as if they lay in ours."""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.contrib.staticfiles.utils import matches_patterns
from django.core.checks import CheckMessage, Error
from django.core.files.storage import FileSystemStorage

# A package, which is also the folder under STATIC_URL, with where in it its file lies.
_FILES = {"plotly": "package_data/plotly.min.js"}


class WheelFiles(BaseFinder):
    """Finds these files, as `plotly/plotly.min.js`, and nothing else of their packages."""

    def __init__(self) -> None:
        self.storages = {package: storage for package, place in _places() if (storage := _storage(package, place))}

    def check(self, **kwargs: Any) -> list[CheckMessage]:  # noqa: ARG002
        """Say which package an installation lacks."""
        return [
            Error(f"The package {package} is not installed or lacks {inside}: its charts would not be drawn.",
                  hint="Run deploy/up, which installs what is missing.", id="roundwatch.E001")
            for package, inside in _FILES.items()
            if package not in self.storages
        ]  # fmt: skip

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:  # noqa: ARG002, FBT001, FBT002 - as Django calls it
        """Where a file lies, or a list of that; an empty list where it is none of these."""
        package, _slash, name = path.partition("/")
        storage = self.storages.get(package)
        if storage is None or name != Path(_FILES[package]).name:
            return []
        return [storage.path(name)] if find_all else storage.path(name)

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        """Each file's name with the storage of its folder."""
        for package, storage in self.storages.items():
            name = Path(_FILES[package]).name
            if not matches_patterns(name, ignore_patterns or ()):
                yield name, storage


def _places() -> Iterator[tuple[str, Path]]:
    """Found without importing a package, which takes a second for plotly."""
    for package, inside in _FILES.items():
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            yield package, Path(folder) / inside


def _storage(package: str, place: Path) -> FileSystemStorage | None:
    if not place.is_file():
        return None
    storage = FileSystemStorage(location=place.parent)
    storage.prefix = package  # type: ignore[attr-defined]  # where Django's own finders put it too
    return storage
