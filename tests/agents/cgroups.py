"""Real cgroups of a test's own, version 2 or 1; where none may be made, the test is skipped and says why."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from roundwatch.samplers import hierarchy
from roundwatch.samplers.base import Paths
from tests.agents.collector import until

# Limits as each version writes them; what is optional is not there without swap accounting.
QUOTA = {True: {"cpu.max": "20000 100000"}, False: {"cpu.cfs_quota_us": "20000"}}
MEMORY_BYTES = 96 << 20
MEMORY = {
    True: {"memory.max": str(MEMORY_BYTES)},
    False: {"memory.limit_in_bytes": str(MEMORY_BYTES)},
}
NO_SWAP = {True: {"memory.swap.max": "0"}, False: {"memory.memsw.limit_in_bytes": str(MEMORY_BYTES)}}


@contextmanager
def group(controller: str, limits: dict[bool, dict[str, str]], optional: dict[bool, dict[str, str]]) -> Iterator[Path]:
    """The folder of a group with these limits; processes that were put into it must be gone at the end."""
    try:
        folder, unified = _made(controller)
    except OSError as error:
        pytest.skip(f"no cgroup may be made here: {error}")
    try:
        try:
            _write(folder, limits[unified])
        except OSError as error:
            pytest.skip(f"no cgroup may be limited here: {error}")
        with suppress(OSError):
            _write(folder, optional.get(unified, {}))
        yield folder
    finally:
        until(lambda: _removed(folder), "the group is removed")


def _made(controller: str) -> tuple[Path, bool]:
    place = hierarchy.find(Paths(), "self", controller)
    if place is None:
        raise FileNotFoundError(f"no cgroup of the {controller} controller is visible")
    folder = place.folder / f"roundwatch-test-{os.getpid()}"
    folder.mkdir()
    return folder, place.unified


def _write(folder: Path, limits: dict[str, str]) -> None:
    for name, text in limits.items():
        with (folder / name).open("r+") as file:  # one that is not there must not be made
            file.write(text)


def _removed(folder: Path) -> bool:
    with suppress(OSError):  # a process that was killed is in it for a moment longer
        folder.rmdir()
    return not folder.exists()
