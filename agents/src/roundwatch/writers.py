"""The training processes that a shipper serves: their rings emptied into streams, their lives watched."""

import contextlib
import logging
import os
import time
from pathlib import Path
from typing import Any

from roundwatch import asking, folders, locks, readings
from roundwatch.reader import OtherVersionError, RingReader
from roundwatch.slots import Record
from roundwatch.spool import Spool
from roundwatch.writer import Writer

logger = logging.getLogger("roundwatch")
TICK_NS = 1_000_000_000  # with a wide margin


class Writers:
    """All training processes of one destination. Whoever calls holds the spool's lock."""

    def __init__(self, folder: Path, spool: Spool, boot: str) -> None:
        self._folder, self._spool, self._boot = folder, spool, boot
        self.all: dict[str, Writer] = {}
        self._listed_ns = -1  # when the folder had changed last, in case that all of it is known
        self.passed_over: set[str] = set()  # rings that another version of Roundwatch understands

    def open_rings(self) -> dict[str, RingReader]:
        """The rings that are not served yet; what is no ring is set aside."""
        found = {}
        for name in self._names():
            path = self._folder / f"{name}.ring"
            try:
                found[name] = RingReader(path)
            except FileNotFoundError:  # a ring in the memory of a process that is gone
                path.unlink(missing_ok=True)
            except OtherVersionError as error:
                self._pass_over(name, error)
            except (OSError, ValueError) as error:
                set_aside(path, error)
        return found

    def _names(self) -> list[str]:
        """The rings in the folder that are not served yet."""
        try:
            changed_ns = os.stat(self._folder).st_mtime_ns  # noqa: PTH116 - five times a second, as is what follows
            if changed_ns == self._listed_ns:
                return []
            present = os.listdir(self._folder)  # noqa: PTH208
        except FileNotFoundError:
            return []
        # What comes within one tick of the kernel's clock leaves a folder's time as it is.
        self._listed_ns = changed_ns if time.time_ns() - changed_ns > TICK_NS else -1
        names = {name[:-5] for name in present if name.endswith(".ring")}
        return sorted(names - self.all.keys() - self.passed_over)

    def _pass_over(self, name: str, why: object) -> None:
        logger.warning("%s", why)
        self.passed_over.add(name)

    def serve(self, name: str, reader: RingReader, resume: int | None = None) -> None:
        """Begins with a ring, at its number `resume` where its stream was known before."""
        stream = self._spool.streams.get(name)
        try:
            if stream is None:
                stream = self._spool.add(name, _said(reader.said, self._boot))
                tail, number = reader.place()
                if number:  # its folder was lost, or the disk never had room for it
                    stream.go_on(tail, number)
            self.all[name] = Writer(reader, stream)
        except (KeyError, TypeError, AttributeError) as error:
            reader.close()
            set_aside(reader.path, error)
            return
        if resume is not None:
            reader.next = max(reader.next, resume)
        if reader.silenced:  # a shipper before this one was told that the server will have nothing of it
            self._spool.discard(stream)

    def take_up(self) -> None:
        """Goes on with what a shipper before this one left: its streams, and the rings that are there."""
        for draft in self._folder.glob("*.new"):
            if not locks.holder_of(draft):
                draft.unlink(missing_ok=True)  # its process was killed before it wrote anything
        rings = self.open_rings()
        resume = self._spool.find({name: ring.place() for name, ring in rings.items()}, self._boot)
        for name, reader in rings.items():
            if name in self._spool.newer:
                self._pass_over(name, f"{reader.path} belongs to a stream of a newer version")
                reader.close()
            else:
                self.serve(name, reader, resume.get(name))

    def release(self) -> None:
        """Lets go of everything; who writes goes on writing."""
        for writer in self.all.values():
            writer.release()
        self.all.clear()
        with contextlib.suppress(OSError):
            self._folder.rmdir()  # as long as it is empty
            self._folder.with_suffix(folders.LINK).unlink()

    def look(self, *, refused: bool = False) -> int:
        """Takes up new rings, empties all, ends what is over. Returns how many records came.

        `refused`: the server does not accept the token, which the processes are told.
        """
        for name, reader in self.open_rings().items():
            self.serve(name, reader)
        count = 0
        for name, writer in list(self.all.items()):
            if name in self._spool.discarded:
                self._discard(name, writer)
                continue
            try:
                count += writer.drain(refused=refused)
                count += writer.answer()
                if writer.over():
                    count += writer.stream.alive
                    self._end(name, writer, at_once=False)
            except Exception as error:  # noqa: BLE001 - whatever one ring holds, the others are served
                set_aside(writer.reader.path, error)
                self._end(name, writer, at_once=True)
                count += 1
        return count

    @property
    def asked(self) -> bool:
        """Whether a process writes what it was asked for."""
        return any(writer.asked for writer in self.all.values())

    def ask(self, wishes: list[Any]) -> None:
        """What the server wishes (`wire.Answer.ask`): of what this version does not know nothing comes."""
        for wish in wishes:
            writer = self.all.get(str(wish.get("stream"))) if isinstance(wish, dict) else None
            if writer is not None and wish.get("what") == asking.EVENT:
                writer.ask(wish.get("start"))

    def sample(self, time_ns: int) -> None:
        """Reads every process from outside."""
        for name, writer in self.all.items():
            if name not in self._spool.discarded:
                writer.sample(time_ns)

    def progress(self, name: str, begun: Record) -> float | None:
        """How far an open phase is, where its process said so."""
        writer = self.all.get(name)
        return None if writer is None else writer.reader.progress(begun.number - begun.inserted)

    def _end(self, name: str, writer: Writer, *, at_once: bool) -> None:
        """Nothing more comes of a ring; it goes when it is needed no more."""
        writer.stream.end()
        if at_once or writer.removable():
            writer.release(remove=True)
            del self.all[name]

    def _discard(self, name: str, writer: Writer) -> None:
        """Its run is gone on the server: its process is told to fall silent, and the ring goes when it ends."""
        writer.reader.order_silence()
        writer.reader.beat()
        if not writer.reader.writing():
            writer.release(remove=True)
            del self.all[name]


def set_aside(path: Path, error: Exception) -> None:
    """Puts a ring that cannot be understood where no shipper looks again."""
    logger.warning("%s is set aside", path, exc_info=error)
    with contextlib.suppress(OSError):  # it may be gone by now
        path.rename(path.with_suffix(".bad"))


def _said(said: dict[str, Any], boot: str) -> dict[str, Any]:
    return readings.said_of(said["identity"], boot, said["wall_ns"], said["mono_ns"])
