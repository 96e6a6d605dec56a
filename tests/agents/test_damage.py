"""Whatever a byte of a spool or of a ring's header has become, starting goes on and costs what is damaged, counted."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundwatch import layout, ring, segments, slots
from roundwatch.layout import PAGE, Sizes
from roundwatch.reader import OtherVersionError, RingReader
from roundwatch.segments import CELL, end_of
from roundwatch.slots import Record
from roundwatch.spool import Spool
from roundwatch.streams import UNCERTAIN, Stream
from tests.agents.shelf import STREAM, Shelf

SMALL = Sizes(64, 4_096, 4_096)
EVENT = slots.head(slots.EVENT, 1)
LONG = b'{"items": 3, "text": "' + b"x" * 70 + b'"}'
OPEN = "000000000000000.open"


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A folder in memory, where there is one: thousands of restarts shall not wait for a disk."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def written(memory: Path) -> tuple[bytes, list[Record]]:
    """An open segment with records of every sort, the last of them a finish, and what they were."""
    shelf = Shelf(memory / "written")
    shelf.stream.insert([shelf.record(slots.LIFECYCLE, text=b'{"what": "begin", "data": {}}')])
    begun = shelf.record(slots.START, name=shelf.event, start=shelf.stream.life.next, text=LONG)
    shelf.stream.insert([begun])
    shelf.samples(2)
    shelf.stream.insert([begun._replace(sort=slots.END, t1=7), shelf.record(slots.EVENT, name=shelf.event)])
    shelf.stream.insert([shelf.record(slots.LIFECYCLE, text=b'{"what": "finish", "data": {"state": "failed"}}')])
    shelf.stream.journal.let_go()
    return (memory / "written" / STREAM / OPEN).read_bytes(), list(shelf.stream._recent)


def restarted(folder: Path, data: bytes) -> tuple[Spool, list[Record]]:
    """The spool that a shipper finds where `data` is the only segment, and what it would send, in order."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / STREAM).mkdir(parents=True)
    (folder / STREAM / OPEN).write_bytes(data)
    spool = Spool(folder)
    spool.find({})
    return spool, sent(spool.streams[STREAM])


def sent(stream: Stream) -> list[Record]:
    """Everything that waits, each number once."""
    found: list[Record] = []
    while records := stream.take(5_000, 1 << 20):
        found = records + found
        stream.acknowledge(records[0].number, end_of(records[-1]) - 1)
    want = 0
    for record in found:
        assert record.number == want
        want = end_of(record)
    return found


def check(found: list[Record], want: list[Record]) -> int:
    """How many of the records that were written are gone; the others must be as they were, but for one text."""
    known = {record.number: record for record in found if record.sort != slots.DROP}
    gone = texts = 0
    for record in want:
        other = known.pop(record.number, None)
        gone += other is None
        if other is not None and other != record:
            assert other._replace(text=b"") == record._replace(text=b"")
            assert other.text == segments.DAMAGED_TEXT
            texts += 1
    assert gone + texts <= 1
    assert all(record.sort in (slots.LIFECYCLE, slots.END) for record in known.values())  # how it was closed
    assert not known.keys() & {record.number for record in want}
    return gone


@pytest.mark.parametrize("bit", [0x01, 0x80])
def test_any_byte_of_a_segment_may_be_damaged_and_costs_one_record_at_most(
    memory: Path, written: tuple[bytes, list[Record]], bit: int
) -> None:
    data, want = written
    for at in range(0, len(data), 1 if bit == 1 else 5):
        damaged = bytearray(data)
        damaged[at] ^= bit
        spool, found = restarted(memory / "spool", bytes(damaged))
        stream = spool.streams[STREAM]
        assert stream.identity.worker == "w"
        assert {words[0] for words in stream.life.names.values()} == {"event", "metric"}
        gone = check(found, want)
        counted = sum(record.parent for record in found if record.sort == slots.DROP)
        # What was at the very end is not known to have been there: its numbers are given to nobody else.
        assert counted == gone or found[want[-1].number].start == UNCERTAIN
        assert not (memory / "spool" / "damaged").exists()


def test_a_segment_may_end_anywhere_in_its_last_records(memory: Path, written: tuple[bytes, list[Record]]) -> None:
    data, want = written
    for length in range(len(data) - 1, len(data) - 4 * CELL.size, -1):
        _, found = restarted(memory / "spool", data[:length])
        kept = [record for record in found if record in want]
        assert kept == want[: len(kept)]
        assert len(kept) >= len(want) - 3
        closing = [record for record in found if record.number >= len(kept)]
        assert closing[-1].sort == slots.LIFECYCLE
        if length % CELL.size:
            assert closing[-1].number > want[-1].number  # the server may know these numbers as other records


def test_a_segment_of_any_length_is_no_reason_not_to_start(memory: Path, written: tuple[bytes, list[Record]]) -> None:
    data, want = written
    other = Shelf(memory / "spool beside")
    other.events(3)
    other.stream.journal.let_go()
    for length in range(0, len(data), 7):
        folder = memory / "cut"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / ("a" * 32)).mkdir(parents=True)
        (folder / ("a" * 32) / OPEN).write_bytes(data[:length])
        shutil.copytree(memory / "spool beside" / STREAM, folder / STREAM)
        spool = Spool(folder)
        spool.find({})
        assert len(sent(spool.streams[STREAM])) == 4  # three events, and that it is gone
        if "a" * 32 in spool.streams:
            found = sent(spool.streams["a" * 32])
            assert [record for record in found if record in want] == want[: sum(record in want for record in found)]
        else:
            assert [path.read_bytes() for path in (folder / "damaged").glob("*/*")] == [data[:length]]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_sealed_segment_with_any_damage_accounts_for_each_of_its_numbers(
    written: tuple[bytes, list[Record]], data: st.DataObject
) -> None:
    whole, want = written
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(1, 100))] = data.draw(st.binary(max_size=100))
    last = want[-1].number
    found = segments.whole(segments.contents(bytes(damaged)).records, 0, last)
    assert found[0].number == 0
    assert end_of(found[-1]) == last + 1
    assert all(end_of(before) == after.number for before, after in pairwise(found))
    for record in found:
        original = want[record.number]
        assert record.sort == slots.DROP or record._replace(text=b"") == original._replace(text=b"")


def test_a_stream_that_a_newer_version_wrote_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(segments, "LAYOUT", segments.LAYOUT + 1)
        shelf = Shelf(tmp_path)
        shelf.events(5)
        shelf.stream.journal.let_go()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.open")}
    spool = Spool(tmp_path)
    spool.find({STREAM: (0, 0)})
    assert not spool.streams
    assert spool.newer == {STREAM}
    assert "newer version" in caplog.text
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.open")} == before
    monkeypatch.setattr(segments, "LAYOUT", segments.LAYOUT + 1)
    again = Spool(tmp_path)
    again.find({STREAM: (0, 0)})
    assert len(sent(again.streams[STREAM])) == 5


def test_after_a_loss_of_power_no_number_is_given_a_second_time(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.stream.insert([shelf.record(slots.START, name=shelf.event, start=0)])
    shelf.events(5)
    shelf.stream.journal.let_go()
    spool = Spool(tmp_path)
    spool.find({}, "another boot")
    found = sent(spool.streams[STREAM])
    assert [record.sort for record in found[6:]] == [slots.DROP, slots.END, slots.LIFECYCLE]
    unknown = found[6]
    assert (unknown.number, unknown.start, unknown.parent) == (6, UNCERTAIN, 0)
    assert slots.REASONS[unknown.state] == "power lost"


def test_what_ended_in_order_before_another_boot_gets_no_gap(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(2)
    shelf.stream.insert([shelf.record(slots.LIFECYCLE, text=b'{"what": "finish", "data": {"state": "finished"}}')])
    shelf.stream.journal.let_go()
    spool = Spool(tmp_path)
    spool.find({}, "another boot")
    assert [record.sort for record in sent(spool.streams[STREAM])] == [slots.EVENT, slots.EVENT, slots.LIFECYCLE]


class Ringed:
    """A ring of the usual size that a shipper has served for a while, and its bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = ring.create(folder, STREAM, b'{"identity": {}, "wall_ns": 1, "mono_ns": 2}', (SMALL,))
        self.path = folder / f"{STREAM}.ring"
        reader = RingReader(self.path)
        for number in range(100):
            self._put(number)
            if number % 10 == 9:
                reader.read()
                reader.free(reader.next)
        for number in range(100, 130):
            self._put(number)
        reader.close()
        self.writer.close("finished")
        self.data = self.path.read_bytes()

    def _put(self, number: int) -> None:
        if number % 5:
            self.writer.put(EVENT, 0, number, -1, 5, 0)
        else:
            self.writer.put_text(b"%d" % number, EVENT, 0, number, -1, 5, 0)

    def opened(self, data: bytes) -> RingReader:
        self.path.write_bytes(data)
        return RingReader(self.path)


@pytest.fixture(scope="module")
def ringed(memory: Path) -> Iterator[Ringed]:
    (memory / "rings").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "SIZES", (SMALL,))
        yield Ringed(memory / "rings")


def header_bytes() -> Iterator[int]:
    yield from range(layout.HEADER.size)
    yield from range(8 * layout.TAIL, 8 * (layout.CHECK + 1))
    yield from range(8 * layout.NAMES_END, 8 * (layout.CLOSED + 1))
    yield from range(8 * layout.LOST, 8 * (layout.LOST + 2 * layout.LOST_WORDS))
    yield from range(8 * layout.TOLD_STEP, 8 * layout.ENTRIES)


@pytest.mark.parametrize("bit", [0x01, 0x40])
def test_any_byte_of_a_rings_header_may_be_damaged_and_costs_no_record(ringed: Ringed, bit: int) -> None:
    for at in header_bytes():
        damaged = bytearray(ringed.data)
        damaged[at] ^= bit
        if at == len(layout.MAGIC) - 1:
            with pytest.raises(OtherVersionError):
                ringed.opened(bytes(damaged))
            continue
        reader = ringed.opened(bytes(damaged))
        reader.next = max(reader.next, 100)  # as its stream knows
        records = reader.rest()
        names = reader.names()
        reader.free(reader.next)
        reader.close()
        assert [(record.number, record.start) for record in records] == [(number, number) for number in range(100, 130)]
        assert [record.text for record in records[::5]] == [b"%d" % number for number in range(100, 130, 5)]
        assert dict(names).get(1, [ring.OTHER_NAME]) == [ring.OTHER_NAME]


def test_a_ring_that_is_cut_off_is_refused_at_each_length(ringed: Ringed) -> None:
    for length in [*range(0, PAGE + 200, 61), *range(len(ringed.data) - 200, len(ringed.data))]:
        with pytest.raises((OSError, ValueError)):
            ringed.opened(ringed.data[:length])
