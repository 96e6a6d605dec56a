"""Produced = stored + waiting + counted gaps, whatever mixture of full disks, refusals, restarts and lost answers."""

import resource
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from roundwatch import ring, slots, streams
from roundwatch.layout import Sizes
from roundwatch.parts import COUNT, ENTRY
from roundwatch.reader import TEXT_LOST, RingReader
from roundwatch.ring import OWN_NUMBER
from roundwatch.segments import end_of
from roundwatch.slots import Record
from roundwatch.spool import Spool
from tests.agents.shelf import STREAM, Shelf

EVENT = slots.head(slots.EVENT, 1)


def entries(count: int) -> bytes:
    """What a step of so many parts says of them."""
    part = ENTRY.pack(slots.head(slots.END, 1), 5_000, 6_000)
    return COUNT.pack(count, 0) + part * count


class Delivery(RuleBasedStateMachine):
    """One stream, a disk, and a server that remembers what it stored of it first."""

    @initialize(limit=st.sampled_from([1 << 14, 1 << 16, 1 << 30]))
    def begin(self, limit: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(streams, "AGAIN_S", 0.0)
        self.patch.setattr(streams, "UNSAVED", 150)
        self.patch.setattr(streams, "RECENT", 20)
        self.patch.setattr(streams, "SEGMENT_BYTES", 8 << 10)
        self.unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.folder = Path(tempfile.mkdtemp())
        self.shelf = Shelf(self.folder, limit_bytes=limit)
        self.stream = self.shelf.stream
        self.stored: dict[int, Record] = {}
        self.limit, self.produced = limit, 0

    @rule(sort=st.sampled_from(["samples", "phases", "events"]), count=st.integers(1, 90))
    def record(self, sort: str, count: int) -> None:
        getattr(self.shelf, sort)(count)
        self.produced += 2 * count if sort == "phases" else count

    @rule(count=st.integers(1, 40), parts=st.integers(0, 8))
    def steps(self, count: int, parts: int) -> None:
        life = self.stream.life
        for _ in range(count):
            step = self.shelf.record(slots.STEP, name=self.shelf.event, other=parts, text=entries(parts))
            self.stream.admit([step._replace(number=life.next - life.inserted)], [])
        self.produced += count * (parts + 1)

    @rule()
    def nested(self) -> None:
        self.shelf.phases(10, parent=0)
        self.produced += 20

    @rule(at=st.integers(0, 4_000))
    def disk_is_full(self, at: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (at, self.unlimited[1]))

    @rule()
    def disk_has_room(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.unlimited)
        self.stream.save()

    @rule()
    def shrink(self) -> None:
        while self.shelf.spool.shrink():
            pass

    @rule(limit=st.integers(1, 200), answered=st.booleans())
    def send(self, limit: int, answered: bool) -> None:
        records = self.stream.take(limit, 1 << 20)
        for record in records:
            for number in range(record.number, end_of(record)):
                self.stored.setdefault(number, record)
        if records and answered:
            self.stream.acknowledge(records[0].number, end_of(records[-1]) - 1)

    @rule(limit=st.integers(1, 5))
    def refuse(self, limit: int) -> None:
        for record in self.stream.take(limit, 1 << 20)[:1]:
            if record.number not in self.stored and record.sort != slots.DROP:
                self.stream.refuse(record)

    @rule()
    def restart(self) -> None:
        """As after a SIGKILL: what only memory held is read from the ring again, so here the disk must have all."""
        self.disk_has_room()
        self.stream.journal.let_go()
        self.shelf.spool = Spool(self.folder, self.limit)
        self.shelf.spool.find({STREAM: (0, 0)})
        self.stream = self.shelf.stream = self.shelf.spool.streams[STREAM]
        assert self.stream.life.next == self.produced

    @invariant()
    def memory_is_bounded(self) -> None:
        assert len(self.stream._unsaved) <= 150 + 90
        assert len(self.stream._recent) <= 150 + 90 + 20

    def teardown(self) -> None:
        self.disk_has_room()
        for _ in range(10_000):
            if not self.stream.pending:
                break
            self.send(500, answered=True)
        assert not self.stream.pending
        assert sorted(self.stored) == list(range(self.produced))
        for number, record in self.stored.items():
            if record.sort == slots.DROP:  # stands for as many records as it has numbers
                assert record.number <= number < record.number + record.parent == end_of(record)
            else:
                assert record.number == number
                assert record.sort != slots.STEP  # nobody is sent one whole
        self.stream.journal.remove()
        self.patch.undo()
        shutil.rmtree(self.folder)


class Passage(RuleBasedStateMachine):
    """One ring too small for its writer, read now and then by shippers that come and go."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.writer = ring.create(self.folder, "s", b"{}", (Sizes(16, 256, 512),))
        self.reader = RingReader(self.folder / "s.ring")
        self.records: list[Record] = []
        self.written: dict[int, int] = {}  # the length of each text

    @rule(count=st.integers(1, 20))
    def put(self, count: int) -> None:
        for _ in range(count):
            number = self.writer.put(EVENT, 0, 7, -1, 5, 0)
            self.written[number] = 0

    @rule(length=st.integers(1, 100))
    def put_text(self, length: int) -> None:
        number = self.writer.put_text(b"x" * length, EVENT, 0, OWN_NUMBER, -1, 5, 0)
        self.written[number] = length

    @rule()
    def take_and_never_write(self) -> None:
        self.written[self.writer.take()] = -1

    @rule(limit=st.integers(1, 20))
    def read(self, limit: int) -> None:
        self.records += self.reader.read(limit)
        self.reader.free(self.reader.next)

    @rule()
    def another_shipper(self) -> None:
        self.reader.close()
        self.reader = RingReader(self.folder / "s.ring")

    def teardown(self) -> None:
        self.put(1)  # without it nobody could know of numbers that were only taken
        self.records += self.reader.rest()
        want = 0
        for record in self.records:
            assert record.number == want
            want = end_of(record)
            if record.sort != slots.DROP:
                length = self.written[record.number]
                assert record.start == (record.number if length else 7)
                assert record.text in (b"x" * length, TEXT_LOST)
        assert want == len(self.written)
        self.writer.close("finished")
        self.reader.close(remove=True)
        self.folder.rmdir()


TestPassage = Passage.TestCase
TestPassage.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestDelivery = Delivery.TestCase
TestDelivery.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
