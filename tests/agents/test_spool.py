"""The spool survives damage, restarts and full disks, counts what it drops, and never fails to start."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundwatch import saving, segments, slots, spool, streams
from roundwatch.journal import KEPT, Journal
from roundwatch.readings import said_of
from roundwatch.segments import CELL, end_of
from roundwatch.slots import Record
from roundwatch.spool import Spool
from tests.agents.collector import Collector
from tests.agents.shelf import STREAM, WHO, Shelf

NUMBERS = st.integers(-(1 << 40), 1 << 40)
RECORDS = st.builds(
    Record,
    number=st.integers(0, 1 << 40),
    sort=st.sampled_from([slots.START, slots.END, slots.EVENT]),
    name=st.integers(0, 0xFFFF),
    other=st.integers(0, 0xFFFF),
    kind=st.integers(0, 255),
    state=st.integers(0, 255),
    clock=st.integers(0, 1),
    thread=st.integers(0, 0xFFFF),
    round=st.integers(-1, (1 << 31) - 1),
    start=NUMBERS,
    parent=NUMBERS,
    t0=NUMBERS,
    t1=NUMBERS,
    text=st.binary(max_size=300),
    inserted=st.integers(0, 1 << 40),
)


def all_of(spool: Spool) -> list[Record]:
    """Everything that waits, in order; it is taken as if it had been sent."""
    stream = spool.streams[STREAM]
    found: list[Record] = []
    while records := stream.take(5_000, 1 << 30):
        found = records + found
        stream.acknowledge(records[0].number, end_of(records[-1]) - 1)
    return found


def covered(records: list[Record]) -> int:
    """The number after the last, where the records follow one another without a gap."""
    want = 0
    for record in records:
        assert record.number == want
        want = end_of(record)
    return want


def again(folder: Path) -> Spool:
    """The spool as the next shipper finds it."""
    spool = Spool(folder)
    spool.find({STREAM: (0, 0)})
    return spool


@given(st.lists(RECORDS, max_size=8))
def test_records_come_out_of_cells_as_they_went_in(records: list[Record]) -> None:
    data = b"".join(map(segments.record_cells, records))
    assert segments.contents(data).records == records


@settings(max_examples=200)
@given(st.lists(RECORDS, min_size=3, max_size=8), st.data())
def test_damage_costs_the_records_that_it_hits_and_no_other(records: list[Record], data: st.DataObject) -> None:
    cells = [segments.record_cells(record) for record in records]
    hit = data.draw(st.integers(0, len(records) - 1))
    at = data.draw(st.integers(0, len(cells[hit]) - 1))
    damaged = bytearray(cells[hit])
    damaged[at] ^= data.draw(st.integers(1, 255))
    found = segments.contents(b"".join([*cells[:hit], bytes(damaged), *cells[hit + 1 :]]))
    others = [record for record in found.records if record.number != records[hit].number]
    assert others == [record for record in records if record.number != records[hit].number]
    assert found.damaged == 1


@given(st.binary(max_size=2_000))
def test_nonsense_is_read_without_an_error(data: bytes) -> None:
    assert segments.contents(data).records == []


def test_a_segment_that_was_cut_off_keeps_what_is_whole() -> None:
    records = [Record(number, slots.EVENT, 1, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0, b"text") for number in range(3)]
    data = b"".join(map(segments.record_cells, records))
    assert segments.contents(data[:-1]).records == records[:2]
    assert len(segments.contents(data[: -CELL.size]).records) == 2


def test_a_restart_finds_everything_and_goes_on_with_the_next_number(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(10_000, b'{"a": 1}')
    assert len(shelf.stream.journal.sealed) > 3
    shelf.stream.journal.let_go()
    spool = again(tmp_path)
    stream = spool.streams[STREAM]
    assert stream.identity == shelf.stream.identity
    assert stream.name("event") == shelf.event
    stream.insert([shelf.record(slots.EVENT, name=shelf.event)])
    records = all_of(spool)
    assert covered(records) == 10_001
    assert {record.text for record in records[:-1]} == {b'{"a": 1}'}
    stream.journal.remove()


def test_a_segment_that_was_left_open_with_another_begun_after_it_is_found_too(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(5)
    journal = shelf.stream.journal
    journal.let_go()
    journal.begin(shelf.stream.life.next, shelf.stream.head())
    shelf.events(5)
    journal.let_go()
    records = all_of(again(tmp_path))
    assert covered(records) >= 10
    assert [record.sort for record in records[:10]] == [slots.EVENT] * 10


@pytest.mark.parametrize("ringed", [True, False])
def test_a_frayed_end_is_a_loss_of_power_only_where_no_ring_knows_better(tmp_path: Path, ringed: bool) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(5)
    shelf.stream.journal.append(b"half a cell")
    shelf.stream.journal.let_go()
    found = Spool(tmp_path)
    found.find({STREAM: (5, 5)} if ringed else {}, "boot")
    found.streams[STREAM].conclude(5_000)
    drops = [record.start for record in all_of(found) if record.sort == slots.DROP]
    assert drops == ([] if ringed else [streams.UNCERTAIN])


def test_a_stream_whose_folder_is_gone_goes_on_with_numbers_that_were_not_given(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.stream.go_on(tail=40, number=50)
    shelf.stream.admit([shelf.record(slots.EVENT, number=40, name=shelf.event)], [])
    lost, event = all_of(shelf.spool)
    assert (lost.number, lost.start, lost.parent, slots.REASONS[lost.state]) == (0, 50, 50, "not kept")
    assert (event.number, event.sort) == (50, slots.EVENT)
    shelf.close()


def test_what_is_acknowledged_leaves_the_disk_segment_by_segment(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(10_000)
    size = shelf.stream.journal.size
    first, last = next(iter(shelf.stream.journal.sealed))
    shelf.stream.acknowledge(first, last - 1)
    assert shelf.stream.journal.size == size
    shelf.stream.acknowledge(last, last)
    assert shelf.stream.journal.size < size
    assert len(list((tmp_path / STREAM).glob("*.seg"))) == len(shelf.stream.journal.sealed)
    shelf.close()


def test_open_phases_are_known_after_a_restart_even_if_their_segments_are_gone(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    begun = shelf.record(slots.START, name=shelf.event, text=b'{"items": 1}')
    shelf.stream.insert([begun])
    shelf.events(10_000)
    shelf.stream.acknowledge(0, 10_000)
    shelf.stream.journal.let_go()
    stream = again(tmp_path).streams[STREAM]
    (record,) = stream.life.open.values()
    assert (record.number, record.text, stream.life.next) == (0, b'{"items": 1}', 10_001)
    stream.journal.remove()


def test_what_is_open_is_known_after_a_restart_also_when_all_was_sent_from_disk(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.stream.insert([shelf.record(slots.START, name=shelf.event)])
    shelf.events(2_500)
    records = all_of(shelf.spool)
    assert covered(records) == 2_501
    assert all(record.sort != slots.DROP for record in records)
    shelf.stream.journal.let_go()
    stream = again(tmp_path).streams[STREAM]
    assert list(stream.life.open) == [0]
    assert stream.life.next == 2_501
    stream.journal.remove()


def test_a_damaged_head_is_made_up_for_by_the_one_before(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(8_000)
    shelf.stream.journal.let_go()
    (newest,) = (tmp_path / STREAM).glob("*.open")
    data = bytearray(newest.read_bytes())
    data[10] ^= 1
    newest.write_bytes(data)
    spool = again(tmp_path)
    assert covered(all_of(spool)) == 8_000
    spool.streams[STREAM].journal.remove()


def test_damaged_heads_everywhere_leave_whose_stream_it_is(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(100, b'{"a": 1}')
    shelf.stream.journal.let_go()
    (only,) = (tmp_path / STREAM).glob("*.open")
    data = bytearray(only.read_bytes())
    data[data.index(b'{"names') + 2] ^= 1
    only.write_bytes(data)
    spool = again(tmp_path)
    assert spool.streams[STREAM].identity.worker == "w"
    assert covered(all_of(spool)) == 100
    spool.streams[STREAM].journal.remove()


def test_a_sealed_segment_that_cannot_be_read_is_a_counted_gap(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(10_000)
    first, last = list(shelf.stream.journal.sealed)[1]
    (tmp_path / STREAM / f"{first:015d}-{last:015d}.seg").write_bytes(b"")
    shelf.stream.journal.let_go()
    spool = again(tmp_path)
    records = all_of(spool)
    assert covered(records) == 10_000
    (drop,) = [record for record in records if record.sort == slots.DROP]
    assert (drop.number, drop.parent, slots.REASONS[drop.state]) == (first, last - first + 1, "damaged")
    spool.streams[STREAM].journal.remove()


@pytest.mark.parametrize(
    "content", [b"", b"nonsense" * 100, segments.head_cells(b"[1]", b"{}"), segments.head_cells(b"{}", b"{}")]
)
def test_what_cannot_be_understood_is_set_aside_and_the_rest_is_found(tmp_path: Path, content: bytes) -> None:
    shelf = Shelf(tmp_path)
    shelf.events(10)
    shelf.stream.journal.let_go()
    (tmp_path / ("0" * 32)).mkdir()
    (tmp_path / ("0" * 32) / "000000000000000.open").write_bytes(content)
    (tmp_path / ("1" * 32)).mkdir()
    (tmp_path / "odd file").write_text("hello")
    spool = again(tmp_path)
    assert list(spool.streams) == [STREAM]
    assert covered(all_of(spool)) == 10
    assert len(list((tmp_path / "damaged").iterdir())) == 2
    spool.streams[STREAM].journal.remove()


def test_over_the_limit_samples_go_first_then_nested_phases_then_phases(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for _ in range(40):
        shelf.samples(500)
        shelf.phases(50, parent=0)
        shelf.phases(50)
        shelf.events(20)
    size = shelf.stream.journal.size

    def left(share: float) -> dict[str, int]:
        shelf.spool.limit_bytes = int(size * share)
        while shelf.spool.shrink():
            pass
        assert shelf.stream.journal.size <= size * share
        kept: dict[str, int] = {"sample": 0, "nested": 0, "phase": 0, "event": 0}
        for low, high in shelf.stream.journal.sealed:
            records = segments.whole(shelf.stream.journal.load((low, high)).records, low, high)
            assert end_of(records[-1]) == high + 1
            for record in records:
                nested = record.sort == slots.END and record.parent >= 0
                sort = {slots.SAMPLE: "sample", slots.END: "phase", slots.EVENT: "event"}.get(record.sort, "")
                kept["nested" if nested else sort] = kept.get("nested" if nested else sort, 0) + 1
        return kept

    some = left(0.9)
    assert some["sample"] > 0
    fewer = left(0.5)
    assert fewer["sample"] < some["sample"]
    assert (fewer["nested"], fewer["phase"]) == (some["nested"], some["phase"])
    phases = left(0.3)
    assert phases["sample"] == 0
    assert phases["nested"] < fewer["nested"]
    assert phases["phase"] == fewer["phase"]
    assert left(0.16)["phase"] < phases["phase"]
    records = all_of(shelf.spool)
    assert covered(records) == shelf.stream.life.next
    dropped = sum(record.parent for record in records if record.sort == slots.DROP)
    kept = sum(record.sort != slots.DROP for record in records)
    assert dropped + kept == 40 * (500 + 200 + 20)
    shelf.close()


def test_shrinking_keeps_nobody_waiting_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(tmp_path, limit_bytes=1 << 19)
    for _ in range(40):
        shelf.samples(500)
    journal = shelf.stream.journal
    before = dict(journal.sealed)
    monkeypatch.setattr(spool, "SLICE_S", 0.0)
    assert shelf.spool.shrink()
    assert sum(size != before[known] for known, size in journal.sealed.items()) == 1
    while shelf.spool.shrink():
        pass
    assert journal.size <= 0.9 * (1 << 19)
    shelf.close()


def test_many_waiting_streams_take_the_memory_of_a_few(tmp_path: Path, collector: Collector) -> None:
    shelf = Shelf(tmp_path, collector.url)
    streams = [shelf.spool.add(f"{index:032x}", said_of(asdict(WHO), "boot", 0, 0)) for index in range(7)]
    for stream in streams:
        name = stream.name("e")
        for _ in range(6):
            stream.insert([shelf.record(slots.EVENT, name=name) for _ in range(500)])
    assert shelf.courier is not None
    while shelf.spool.waiting():
        shelf.courier.step()
        assert len(shelf.spool.kept) <= KEPT
    for stream in streams:
        assert collector.streams[stream.id].whole()
        assert len(collector.streams[stream.id].of("event")) == 3_000
        stream.journal.remove()
    shelf.close()


@contextmanager
def full_disk(at: int) -> Iterator[None]:
    """A disk on which no file may grow beyond `at` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_loses_nothing_that_memory_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "AGAIN_S", 0.0)
    shelf = Shelf(tmp_path)
    shelf.events(100)
    enough = shelf.stream.journal.size + 2_000
    with full_disk(enough):
        shelf.events(1_000)
        shelf.phases(10)
        size = shelf.stream.journal.size
    assert size <= enough
    shelf.events(10)
    assert shelf.stream.journal.size > 80_000
    shelf.stream.journal.let_go()
    spool = again(tmp_path)
    records = all_of(spool)
    assert covered(records) == 1_130
    assert all(record.sort != slots.DROP for record in records)
    spool.streams[STREAM].journal.remove()


def test_a_disk_that_stays_full_costs_samples_before_phases_and_memory_stays_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "UNSAVED", 1_000)
    shelf = Shelf(tmp_path)
    with full_disk(0):
        for _ in range(20):
            shelf.samples(200)
            shelf.phases(10)
        assert len(shelf.stream._unsaved) <= 1_000
        records = all_of(shelf.spool)
    assert covered(records) == 20 * 220
    assert sum(record.sort == slots.END for record in records) == 200
    dropped = [record for record in records if record.sort == slots.DROP]
    assert {slots.REASONS[record.state] for record in dropped} == {"disk full"}
    assert {slots.DROPPED[record.kind] for record in dropped} == {"sample"}
    shelf.close()


def test_a_write_that_fails_half_way_leaves_whole_cells(tmp_path: Path) -> None:
    journal = Journal(tmp_path / STREAM)
    journal.begin(0, segments.head_cells(b"{}", b"{}"))
    event = Record(0, slots.EVENT, 1, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0)
    size = journal.open_bytes
    with full_disk(size + CELL.size + 10), pytest.raises(OSError, match="File too large"):
        journal.append(segments.record_cells(event) + segments.record_cells(event._replace(number=1)))
    journal.append(segments.record_cells(event._replace(number=2)))
    journal.seal(2)
    assert [record.number for record in journal.load((0, 2)).records] == [2]
    journal.remove()


def test_what_the_server_stores_in_time_is_not_forced_to_disk_and_nothing_else_waits_longer_than_to_the_second_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, now, synced = Shelf(tmp_path), [100.0], [0]
    force = os.fdatasync

    def counted(fd: int) -> None:
        synced[0] += 1
        force(fd)

    def sync(*, stored: bool) -> int:
        """How often the disk is waited for after one more record, which the server has stored by now or has not."""
        shelf.events(1)
        if stored:
            shelf.stream.acknowledge(0, shelf.stream.life.next - 1)
        now[0] += 0.5
        before = synced[0]
        shelf.spool.sync(patient=True)
        return synced[0] - before

    monkeypatch.setattr(spool.os, "fdatasync", counted)
    monkeypatch.setattr(saving.time, "monotonic", lambda: now[0])
    assert sync(stored=True) == 1, "a stream that is new is"
    assert [sync(stored=True) for _ in range(10)] == [0] * 9 + [1], "how it goes on is known from the disk"
    assert [sync(stored=False) for _ in range(3)] == [0, 1, 1]
    assert sync(stored=True) == 0
    before = synced[0]
    shelf.spool.sync()
    assert synced[0] == before + 1, "at the end nothing is left"
    shelf.close()
