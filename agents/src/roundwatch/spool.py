"""The spool: all streams of one destination on local disk, found again after any crash, kept below a limit."""

import itertools
import json
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from roundwatch import segments, thinning
from roundwatch.folders import make_private
from roundwatch.journal import Kept, Range
from roundwatch.saving import Saving
from roundwatch.slots import Record
from roundwatch.streams import Stream
from roundwatch.taking_up import NewerError, found

logger = logging.getLogger("roundwatch")
LIMIT_BYTES = 1 << 30
SLICE_S = 0.1  # how long thinning may keep others from the lock
STREAM_CHARS = 32
REFUSED = "refused"
REFUSED_BYTES, REFUSED_STREAMS_BYTES = 16 << 20, 64 << 20


class Spool:
    """The streams of one destination. Whoever touches a stream holds `lock`."""

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.streams: dict[str, Stream] = {}
        self.discarded: set[str] = set()
        self.newer: set[str] = set()  # streams that a newer version wrote: they wait for it where they are
        self.limit_bytes = limit_bytes
        self.kept = Kept()
        self._saving = Saving()
        self._shrinking = False
        self._levels: dict[tuple[str, Range], int] = {}

    def find(self, rings: Mapping[str, tuple[int, int]], boot: str = "") -> dict[str, int]:
        """Takes up what a shipper before this one left; a stream without a ring has ended.

        `rings` gives the tail of each stream that has a ring, in the ring's numbers and in the stream's; `boot` is this
        boot of the machine, where it is known. Returns the ring's number at which each goes on. What cannot be
        understood is set aside, what a newer version wrote is left alone; this never fails because of it.
        """
        resume = {}
        for folder in sorted(self.folder.iterdir()) if self.folder.exists() else []:
            if len(folder.name) != STREAM_CHARS or not folder.is_dir():
                continue
            try:
                stream, at = found(folder, self.kept, *rings.get(folder.name, (0, 0)))
            except NewerError as error:
                logger.warning("spool %s: %s", folder, error)
                self.newer.add(folder.name)
                continue
            except Exception as error:  # noqa: BLE001 - whatever lies there, the rest is served
                self._set_aside(folder, error)
                continue
            self.streams[stream.id] = stream
            resume[stream.id] = at
            if folder.name in rings:  # the machine has not lost power, and the ring knows which numbers were given
                stream.uncertain = False
            else:
                stream.uncertain |= boot not in ("", stream.boot)
                stream.conclude(stream.life.last_ns)
                stream.end()
        return resume

    def add(self, name: str, said: dict[str, Any]) -> Stream:
        """A stream that is new here. Raises KeyError or TypeError where `said` lacks what names it."""
        stream = self.streams[name] = Stream(self.folder / name, said, self.kept)
        return stream

    def forget(self, stream: Stream) -> None:
        """Removes a stream with all its files: everything is stored, or its run is gone."""
        self.streams.pop(stream.id, None)
        self._levels = {at: level for at, level in self._levels.items() if at[0] != stream.id}
        stream.journal.remove()

    def waiting(self) -> int:
        """How many records wait for the server."""
        with self.lock:
            return sum(stream.pending.count() for stream in self.streams.values())

    def tidy(self) -> None:
        """Removes the streams that have ended and are stored."""
        with self.lock:
            for stream in [stream for stream in self.streams.values() if stream.done]:
                self.forget(stream)

    def discard(self, stream: Stream) -> None:
        """Its run is gone on the server: nothing of it is kept, now or later."""
        self.discarded.add(stream.id)
        self.forget(stream)

    def refuse(self, stream: Stream) -> None:
        """The server will have nothing of it, now or later: what is on disk is set aside whole, for people to look at.

        Where much was set aside already, it is removed instead.
        """
        stream.end()
        stream.journal.let_go()
        try:
            aside = make_private(self.folder / REFUSED)
            if sum(path.stat().st_size for path in aside.rglob("*")) + stream.journal.size <= REFUSED_STREAMS_BYTES:
                stream.journal.folder.rename(aside / f"{stream.id}-{time.time_ns()}")
        except OSError as error:
            logger.warning("spool %s: a refused stream cannot be kept (%s)", self.folder, error)
        self.discard(stream)

    def keep_refused(self, stream: Stream, record: Record) -> None:
        """Sets a record aside that the server refuses, for people to look at."""
        try:
            path = make_private(self.folder / REFUSED) / f"{stream.id}.jsonl"
            if not path.exists() or path.stat().st_size < REFUSED_BYTES:
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
                with os.fdopen(fd, "a") as file:
                    file.write(json.dumps([*record[:-2], record.text.decode(errors="replace")]) + "\n")
        except OSError as error:
            logger.warning("spool %s: a refused record cannot be kept (%s)", self.folder, error)

    def sync(self, *, at_once: bool = False, patient: bool = False) -> None:
        """Makes what is in the journals survive a loss of power. A slow disk delays nobody who wants the lock.

        `at_once`: tries now what the disk did not take a moment ago. `patient`: what has come since the last call may
        be stored by the server before the next.
        """
        with self.lock:
            for stream in self.streams.values():
                stream.save(at_once=at_once)
            due = self._saving.due(self.streams.values(), all_of_them=not patient)
            written = [fd for stream in due if (fd := stream.journal.written()) is not None]
        for fd in written:
            try:
                os.fdatasync(fd)
            except OSError as error:
                logger.warning("spool %s: %s", self.folder, error)
            finally:
                os.close(fd)

    def shrink(self) -> bool:
        """Keeps the disk below the limit: drops what matters least first, of the oldest first, and counts it.

        Works for a moment only. Returns whether more is left to do.
        """
        with self.lock:
            size, enough, deadline = self._bytes(), 0.9 * self.limit_bytes, time.monotonic() + SLICE_S
            if size <= (enough if self._shrinking else self.limit_bytes):
                self._shrinking = False
                return False
            self._shrinking = True
            for stream, known, level in self._thinnable():
                size -= self._thin(stream, known, level)
                if size <= enough or time.monotonic() >= deadline:
                    return size > enough
            return False

    def _bytes(self) -> int:
        return sum(stream.journal.size for stream in self.streams.values())

    def _thinnable(self) -> Iterator[tuple[Stream, Range, int]]:
        """The segments to make smaller, and how far, in the order in which that hurts least."""
        for level, stream in itertools.product(range(len(thinning.LEVELS)), list(self.streams.values())):
            for known in list(stream.journal.sealed):
                if self._levels.get((stream.id, known), -1) < level:
                    yield stream, known, level

    def _thin(self, stream: Stream, known: Range, level: int) -> int:
        """Makes a segment smaller. Returns by how many bytes."""
        self._levels[stream.id, known] = level
        before = stream.journal.size
        held = stream.journal.load(known)
        whole = stream.expanded(segments.whole(held.records, *known))
        records = thinning.thin(whole, thinning.LEVELS[level], "disk full")
        data = stream.head() + b"".join(map(segments.record_cells, records))
        try:
            stream.journal.replace(known, data)
        except OSError as error:
            logger.warning("spool %s: cannot be made smaller (%s)", self.folder, error)
        return before - stream.journal.size

    def _set_aside(self, folder: Path, error: Exception) -> None:
        logger.warning("spool %s: not understood (%r), set aside", folder, error)
        try:
            aside = make_private(self.folder / "damaged")
            folder.rename(aside / f"{folder.name}-{time.time_ns()}")
        except OSError as problem:
            logger.warning("spool %s: cannot be set aside either (%s)", folder, problem)
