"""What lies in a spool, folder by folder: for which server it was recorded, how much it is, and who ships it."""

from dataclasses import dataclass
from pathlib import Path

from roundwatch import folders, launch, locks
from roundwatch.spool import STREAM_CHARS


@dataclass(frozen=True, slots=True)
class Part:
    """One destination's folder; its name is the key. `server` is a URL, or "" for what was recorded offline."""

    path: Path
    server: str

    @property
    def served(self) -> bool:
        """Whether a shipper is at work there."""
        return locks.holder_of(self.path / launch.LOCK) != 0

    @property
    def streams(self) -> list[Path]:
        """The folders of the streams that wait there."""
        return [path for path in sorted(self.path.iterdir()) if len(path.name) == STREAM_CHARS and path.is_dir()]

    @property
    def size(self) -> int:
        """Bytes of what waits there."""
        return sum(file.stat().st_size for stream in self.streams for file in stream.iterdir())


def parts(spool: Path) -> list[Part]:
    """The folders of a spool that say for whom they are. Raises OSError where it cannot be read."""
    found = []
    for path in sorted(spool.iterdir()):
        note = path / folders.NOTE
        if note.is_file():
            server = note.read_text(errors="replace").strip()
            found.append(Part(path, "" if server == folders.OFFLINE else server))
    return found
