"""A spool with one worker's stream in it and a courier that sends it, all in the test's own process."""

from dataclasses import asdict
from pathlib import Path

from roundwatch import slots, wire
from roundwatch.clock import Clock
from roundwatch.courier import Courier
from roundwatch.post import Post
from roundwatch.preparing import Preparer
from roundwatch.readings import said_of
from roundwatch.slots import Record
from roundwatch.spool import Spool
from roundwatch.streams import Stream

STREAM = "5" * 32
WHO = wire.Identity(project="p", run="r", worker="w", machine="m")


class Shelf:
    """`stream` has the names "event" (60000) and "metric" (60001)."""

    def __init__(self, folder: Path, url: str = "", limit_bytes: int = 1 << 30) -> None:
        self.spool = Spool(folder, limit_bytes)
        self.stream: Stream = self.spool.add(STREAM, said_of(asdict(WHO), "boot", 10_000, 4_000))
        self.event, self.metric = self.stream.name("event"), self.stream.name("metric", "bytes", "host")
        self.clock = Clock()
        self.preparer = Preparer(self.spool, self.clock, "m", "boot", lambda _, __: None)
        self.courier = Courier(Post(url, "token", 5.0), self.preparer, self.clock) if url else None

    def events(self, count: int, text: bytes = b"") -> None:
        for begin in range(0, count, 500):
            several = min(500, count - begin)
            self.stream.insert([self.record(slots.EVENT, name=self.event, text=text) for _ in range(several)])

    def samples(self, count: int) -> None:
        self.stream.insert([self.record(slots.SAMPLE, name=self.metric, t1=1.5) for _ in range(count)])

    def phases(self, count: int, parent: int = -1) -> None:
        for _ in range(count):
            start = self.stream.life.next
            begun = self.record(slots.START, name=self.event, start=start, parent=parent)
            self.stream.insert([begun, begun._replace(sort=slots.END)])

    def record(self, sort: int, **words: object) -> Record:
        blank = Record(-1, sort, 0, 0, 0, 0, 0, 0, -1, 0 if sort == slots.SAMPLE else -1, -1, 5_000, 0)
        return blank._replace(**words)  # type: ignore[arg-type]

    def close(self) -> None:
        self.stream.journal.remove()
        if self.courier is not None:
            self.courier.close()

    def send(self, requests: int = 200) -> None:
        """Sends until nothing waits; pauses are passed over."""
        assert self.courier is not None
        for _ in range(requests):
            if not self.spool.waiting():
                return
            self.courier.step()
        raise AssertionError(f"still waiting: {list(self.stream.pending)}")
