"""The segment files of one stream in one folder: an open one that grows, sealed ones named by the numbers they hold."""

import contextlib
import os
from collections import OrderedDict
from pathlib import Path

from roundwatch import segments
from roundwatch.folders import make_private
from roundwatch.segments import Contents

SEGMENT_BYTES = 256 << 10
KEPT = 4
Range = tuple[int, int]


class Kept:
    """The segments that were read last, of all streams together: parsed they hold ten times what they do on disk."""

    def __init__(self) -> None:
        self._contents: OrderedDict[Path, Contents] = OrderedDict()

    def __len__(self) -> int:
        return len(self._contents)

    def read(self, path: Path) -> Contents:
        """What a segment holds. Raises OSError where it cannot be read."""
        if path not in self._contents:
            self._contents[path] = segments.contents(path.read_bytes())
        self._contents.move_to_end(path)
        if len(self._contents) > KEPT:
            self._contents.popitem(last=False)
        return self._contents[path]

    def drop(self, path: Path) -> None:
        """A segment has changed, or is gone."""
        self._contents.pop(path, None)


class Journal:
    """Raises OSError where the disk does not do what is asked; then what was there before is still there."""

    def __init__(self, folder: Path, kept: Kept | None = None) -> None:
        self.folder = folder
        self.sealed: dict[Range, int] = {}  # bytes of each, in the order of the numbers
        self.open_from: int | None = None
        self.open_bytes = 0
        self.head_bytes = 0  # of them, what the open segment began with
        self._fd = -1
        self._dirty = False
        self._kept = Kept() if kept is None else kept

    @property
    def size(self) -> int:
        """What all files of this stream hold on disk."""
        return self.open_bytes + sum(self.sealed.values())

    def find(self) -> Contents | None:
        """Looks what lies in the folder already. Returns what the segment holds that was left open last, if any."""
        left: list[int] = []
        for path in sorted(self.folder.iterdir()) if self.folder.exists() else []:
            known = segments.range_of(path)
            if known is not None:
                self.sealed[known] = path.stat().st_size
            elif path.suffix == ".open" and path.stem.isdigit():
                left.append(int(path.stem))
            elif path.suffix == ".tmp":
                path.unlink()
        if not left:
            return None
        *passed, last = left
        self._seal_passed(passed, [last, *(first for first, _ in self.sealed)])
        path = self._open_path(last)
        self.open_from, self.open_bytes = last, path.stat().st_size
        # For `seal`, which syncs what its writer could not any more.
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return segments.contents(path.read_bytes())

    def _seal_passed(self, passed: list[int], others: list[int]) -> None:
        """Seals segments that were left open though others were begun after them: they end where the next begins."""
        for first in passed:
            following = min(other for other in (*passed, *others) if other > first)
            path = self._open_path(first).rename(self._path((first, following - 1)))
            self.sealed[first, following - 1] = path.stat().st_size
        self.sealed = dict(sorted(self.sealed.items()))

    def begin(self, first: int, head: bytes) -> None:
        """Opens a new segment for the numbers from `first` on."""
        make_private(self.folder)
        draft = self._open_path(first).with_suffix(".tmp")
        self._fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self.open_from, self.open_bytes = first, 0
        try:
            self.append(head)
            self.head_bytes = len(head)
            draft.rename(self._open_path(first))
        except OSError:
            self.let_go()
            self.open_from = None
            raise

    def append(self, data: bytes) -> None:
        """Writes all of `data`, or nothing."""
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, memoryview(data)[written:])
        except OSError:
            # Half a cell in the middle would put every cell after it out of step.
            os.ftruncate(self._fd, self.open_bytes)
            os.lseek(self._fd, self.open_bytes, os.SEEK_SET)
            raise
        self.open_bytes += len(data)
        self._dirty = True

    def written(self) -> int | None:
        """A new descriptor of the open segment if it was written to since the last call: to be synced and closed."""
        if not self._dirty or self._fd < 0:
            return None
        self._dirty = False
        return os.dup(self._fd)

    def seal(self, last: int) -> None:
        """Closes the open segment, which holds the numbers up to `last`; an empty one stays to be begun anew."""
        if self.open_from is None:
            return
        with contextlib.suppress(OSError):  # what the disk did not take is found as damage when it is read
            os.fdatasync(self._fd)
        first, size = self.open_from, self.open_bytes
        if last >= first:
            self._open_path(first).rename(self._path((first, last)))
            self.sealed[first, last] = size
        self.let_go()
        self.open_from, self.open_bytes = None, 0

    def let_go(self) -> None:
        """Closes the open file, as it is."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def load(self, wanted: Range) -> Contents:
        """What a sealed segment holds. Nothing where it cannot be read."""
        try:
            return self._kept.read(self._path(wanted))
        except OSError:
            return Contents()

    def load_open(self) -> Contents:
        """What the open segment holds so far. Nothing where it cannot be read."""
        try:
            return (
                Contents()
                if self.open_from is None
                else segments.contents(self._open_path(self.open_from).read_bytes())
            )
        except OSError:
            return Contents()

    def replace(self, wanted: Range, data: bytes) -> None:
        """Puts `data` in the place of a sealed segment, whole or not at all."""
        path = self._path(wanted)
        draft = path.with_suffix(".tmp")
        try:
            draft.write_bytes(data)
            draft.chmod(0o600)
            draft.rename(path)
        except OSError:
            draft.unlink(missing_ok=True)  # half of it would keep a full disk full
            raise
        self.sealed[wanted] = len(data)
        self._kept.drop(path)

    def delete(self, wanted: Range) -> None:
        """Removes a sealed segment; one that will not go is counted no more, and is met again at the next start."""
        del self.sealed[wanted]
        self._kept.drop(self._path(wanted))
        with contextlib.suppress(OSError):
            self._path(wanted).unlink()

    def remove(self) -> None:
        """Removes everything of this stream."""
        self.let_go()
        for known in self.sealed:
            self._kept.drop(self._path(known))
        self.sealed.clear()
        self.open_from, self.open_bytes = None, 0
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()

    def _path(self, wanted: Range) -> Path:
        return self.folder / f"{wanted[0]:015d}-{wanted[1]:015d}.seg"

    def _open_path(self, first: int) -> Path:
        return self.folder / f"{first:015d}.open"
