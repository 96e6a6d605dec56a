"""One training process that a shipper serves: its ring emptied into its stream, its life watched."""

import os
import select
import time
from typing import Any

from roundwatch import asking, readings
from roundwatch.asking import Asked
from roundwatch.killings import Killings
from roundwatch.life import UNKNOWN
from roundwatch.reader import RingReader
from roundwatch.samplers import process_samplers
from roundwatch.samplers.base import Paths, Sampler
from roundwatch.streams import Stream
from roundwatch.telling import Telling

# What a process keeps for a minute after its run is what detection looks for: a reading later than that is needed.
AFTER_FINISH_NS = 75_000_000_000


class Writer:
    """One training process with its ring and its stream."""

    def __init__(self, reader: RingReader, stream: Stream) -> None:
        self.reader, self.stream = reader, stream
        self.samplers: list[Sampler] = []
        self._writing = True
        self._stopped_ns = 0
        self._asked: Asked | None = None
        self._telling = Telling(reader, stream)
        self._pid = pid = reader.pid()
        self._process = _watched(pid)
        self._killings: Killings | None = None
        if self._process is not None:
            self.samplers = process_samplers(pid)
            self._killings = Killings(pid, Paths())

    def drain(self, *, refused: bool) -> int:
        """Moves what the ring holds into the stream. Returns how many records that were."""
        if not self._writing:
            return 0
        self.reader.beat(refused=refused)
        # Asked before the ring is read: what was written until then is in it.
        self._writing = self.reader.writing()
        records = self.reader.read() if self._writing else self.reader.rest()
        self.stream.admit(self._telling.untold(records), self.reader.names())
        self._telling.tell(writing=self._writing)
        self._free()
        if self._writing:
            self.stream.seen_ns = time.monotonic_ns()
        else:
            reason = UNKNOWN if self._killings is None else self._killings.reason()
            self.stream.conclude(max(self.stream.seen_ns, self.stream.life.last_ns), self.reader.end_state(), reason)
            self._stopped_ns = time.monotonic_ns()
        return len(records)

    def over(self) -> bool:
        """Whether nothing more comes: the process is gone, or has finished a minute ago."""
        if self._writing:
            return False
        return not self.lives() or time.monotonic_ns() - self._stopped_ns > AFTER_FINISH_NS

    def removable(self) -> bool:
        """Whether nobody needs the ring any more: the disk has what was in it, or the server has all of it."""
        return not self.stream.unsaved or self.stream.done

    def lives(self) -> bool:
        """Whether the process is there, still writing or not."""
        return self._process is not None and not select.select([self._process], [], [], 0)[0]

    @property
    def asked(self) -> bool:
        """Whether its stacks are being taken."""
        return self._asked is not None

    def ask(self, start: Any) -> None:
        """Begins to take its thread stacks, for the phase that began as `start`; never raises, `answer` tells all."""
        if self._asked is None:
            begun = self.stream.life.open.get(start) if isinstance(start, int) else None
            self._asked = Asked(self.reader.stacks(), self._pid, self._process, start, begun)

    def answer(self) -> int:
        """Puts the stacks that were asked for into the stream once they are there. Returns how many records that is."""
        if self._asked is None or (self._writing and not self._asked.over()):
            return 0
        asked, self._asked = self._asked, None
        if self._writing:  # what is read anew from a ring that stays must get the same numbers again
            name = self.stream.name(asking.EVENT)
            self.stream.insert([asked.event(name)])
            self._free()
        asked.close()
        return int(self._writing)

    def sample(self, time_ns: int) -> None:
        """Reads the process's memory and limits from outside."""
        # What is read anew from a ring that stays must get the same numbers again: nothing may follow it.
        if not self.lives() or not (self._writing or self.removable()):
            return
        if self._killings is not None:
            self._killings.look()
        for sampler in self.samplers:
            readings.append(self.stream, sampler.read(), time_ns)
        self._free()

    def release(self, *, remove: bool = False) -> None:
        """Lets go of the ring and the process; with `remove` the ring is gone for good."""
        self.reader.close(remove=remove)
        if self._asked is not None:
            self._asked.close()
        if self._process is not None:
            os.close(self._process)

    def _free(self) -> None:
        """Makes room in the ring; what its writer left last stays there until the disk has it."""
        if self._writing or not self.stream.unsaved:
            self.reader.free(self.stream.life.next)


def _watched(pid: int) -> int | None:
    """A descriptor that tells when a process ends; None where there is none to watch."""
    try:
        return os.pidfd_open(pid) if pid else None
    except OSError:
        return None
