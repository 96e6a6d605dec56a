"""Which process of this host started this rank and its neighbours: what they have in common where nobody says it."""

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
MAX_ANCESTORS = 32
PARENT, BEGAN = 1, 19  # positions in /proc/<pid>/stat behind the name


@dataclass(frozen=True, slots=True)
class Starter:
    """`id` is the same for all that it started, and for nothing else on any machine at any time."""

    pid: str
    id: str


def find(proc: Path = PROC) -> Starter | None:
    """The nearest process above, or this one, that was not itself given a LOCAL_RANK; None where none can be seen."""
    try:
        above = next((pid for pid in _upwards(proc) if not _is_ranked(proc, pid)), None)
        if above is None:
            return None
        boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
        words = ["roundwatch launch", boot, str((proc / "self/ns/pid").readlink()), above, _stat(proc, above)[BEGAN]]
    except (OSError, ValueError, IndexError):
        return None
    return Starter(above, f"launch-{hashlib.sha256(' '.join(words).encode()).hexdigest()[:16]}")


def _first(proc: Path) -> str:
    """This process; or the one of which it runs a function, for it was told its rank only after it began."""
    module = sys.modules.get("multiprocessing.process")
    parent = None if module is None else module.parent_process()
    return str((proc / "self").readlink()) if parent is None else str(parent.pid)


def _upwards(proc: Path) -> Iterator[str]:
    """This process, then those above it, as far as they can be seen."""
    pid = _first(proc)
    for _ in range(MAX_ANCESTORS):
        yield pid
        pid = _stat(proc, pid)[PARENT]
        if pid == "0":
            return


def _is_ranked(proc: Path, pid: str) -> bool:
    """Whether it was given a LOCAL_RANK when it began; another user's process was not, as far as anybody knows."""
    try:
        return b"\0LOCAL_RANK=" in b"\0" + (proc / pid / "environ").read_bytes()
    except OSError:
        return False


def _stat(proc: Path, pid: str) -> list[str]:
    """The fields from the state on; the name before it may hold blanks and brackets."""
    return (proc / pid / "stat").read_text(errors="replace").rpartition(")")[2].split()
