"""One record for a step with its parts: what is written when, what it stands for, and what of it no fault can take."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from roundwatch import layout, parts, ring, segments, slots, telling
from roundwatch.layout import Sizes
from roundwatch.reader import RingReader
from roundwatch.segments import CELL, end_of
from roundwatch.slots import Record
from roundwatch.spool import Spool
from roundwatch.telling import Telling
from roundwatch.torch.spans import Spans
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site
from tests.agents.recorder import Recording, Row
from tests.agents.shelf import STREAM, Shelf

NAMES = ["forward", "backward", "allreduce", "optimizer"]


def parts_of_a_step(spans: Spans, names: list[str] = NAMES) -> None:
    """Parts of 10 ns each, one after the other, where the caller stands."""
    for at, name in enumerate(names):
        collective = (spans.group("world"), 7, 2_000_000_000, 500_000_000) if name == "allreduce" else None
        spans.write(spans.head(name), spans.here(), 10 * at, 10 * at + 10, collective)


def sorts(recording: Recording) -> list[int]:
    """What lies in the ring and was not read, without what comes of this process itself."""
    of_process = slots.SAMPLE, slots.EVENT
    return [record.sort for record in recording.reader.read() if record.sort not in of_process]


def test_the_parts_of_a_step_are_one_record_with_its_end(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)
    with recording.run.round(3):
        sorts(recording)
        with recording.run.step():
            parts_of_a_step(spans)
            assert sorts(recording) == [slots.START]  # a step that hangs is seen, and nothing else was written
        assert sorts(recording) == [slots.STEP]


def test_a_step_record_stands_for_its_parts_and_the_step(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)
    with recording.run.round(3), recording.run.step():
        parts_of_a_step(spans)
    *inner, step = recording.phases()
    assert [row.name for row in (*inner, step)] == [*NAMES, "step"]
    assert [row.kind for row in inner] == ["compute", "compute", "transfer", "compute"]
    assert {row.record.parent for row in inner} == {step.record.start}
    assert {(row.record.round, row.record.thread) for row in inner} == {(3, step.record.thread)}
    assert [row.record.start for row in inner] == [row.record.number for row in inner]
    assert [(row.record.t0, row.record.t1) for row in inner] == [(0, 10), (10, 10), (20, 10), (30, 10)]
    assert inner[2].attrs == {"process_group": "world", "seq": 7, "comm_s": 2.0, "overlap_s": 0.5}
    assert not any(row.attrs for row in (*inner[:2], inner[3], step))
    after = {row.record.number + 1 - row.record.inserted for row in (*inner, step)}
    assert after == {recording.reader.next - 1}  # a shipper that knows any of them goes on with the end of the round
    numbers = [row.record.number for row in recording.rows]
    assert numbers == list(range(len(numbers)))


def test_parts_say_the_same_within_a_step_and_where_none_is_around_them(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)
    with recording.run.step():
        parts_of_a_step(spans)
    with recording.run.phase("train"):
        parts_of_a_step(spans)
    phases = [(row.name, row.kind, row.attrs, row.record.t0, row.record.t1) for row in recording.phases()]
    assert phases[:4] == phases[5:9]


def test_a_step_that_fails_or_has_attributes_says_so_beside_its_parts(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)

    def fail() -> None:
        with recording.run.step(5) as step:
            step.set(items=3)
            parts_of_a_step(spans)
            raise ValueError("no such thing")

    with recording.run.round(0), pytest.raises(ValueError, match="no such"):
        fail()
    *inner, failed = recording.phases()
    assert [row.state for row in inner] == ["ok"] * 4
    assert (failed.state, failed.attrs) == ("error", {"step": 5, "items": 3, "error": "ValueError: no such thing"})


def test_the_device_has_its_lane_and_its_memory_is_the_steps(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)
    recording.run.next_round()
    before = spans.on_device()
    recording.run.next_round()
    with recording.run.step():
        parts_of_a_step(spans, ["forward"])
        spans.write(spans.head("backward", device=True), before, 5, 9)
        parts_of_a_step(spans, ["optimizer"])
        spans.gathering.memory = 1 << 40, 1 << 41
    forward, backward, optimizer, step = recording.phases()
    assert backward.attrs == {"device": True}
    assert (backward.record.parent, backward.record.round) == (-1, 0)
    assert backward.record.thread != step.record.thread
    for row in (forward, optimizer):
        assert (row.record.parent, row.record.round, row.attrs) == (step.record.start, 1, {})
        assert row.record.thread == step.record.thread
    assert step.attrs == {"device_memory_peak_bytes": 1 << 40, "device_memory_reserved_bytes": 1 << 41}
    with recording.run.step():
        pass
    assert not recording.phases()[-1].attrs  # what was not read again is not said again


def test_what_is_within_another_phase_of_the_step_is_written_by_itself(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)
    with recording.run.step(), recording.run.phase("train"):
        parts_of_a_step(spans, ["forward"])
    forward, train, step = recording.phases()
    assert (forward.record.parent, train.record.parent) == (train.record.start, step.record.start)


def test_more_parts_than_a_step_has_room_for_are_all_recorded(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)
    with recording.run.step():
        parts_of_a_step(spans, 50 * NAMES)
    rows = recording.phases()
    assert sorted(row.name for row in rows) == sorted([*50 * NAMES, "step"])
    assert {row.record.parent for row in rows if row.name != "step"} == {rows[-1].record.start}


def test_a_second_step_at_the_same_time_keeps_to_itself(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)

    def other() -> None:
        with recording.run.step():
            parts_of_a_step(spans, ["forward"])

    with recording.run.round(0), recording.run.step():
        parts_of_a_step(spans, ["optimizer"])
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        parts_of_a_step(spans, ["backward"])
    rows = {row.name: row for row in recording.phases() if row.name != "step"}
    steps = {row.record.start: row.record.thread for row in recording.phases() if row.name == "step"}
    assert (len(rows), len(steps)) == (3, 2)
    assert all(steps[row.record.parent] == row.record.thread for row in rows.values())
    assert rows["forward"].record.thread != rows["backward"].record.thread


def test_a_forked_child_leaves_its_parents_step_alone(recording: Recording) -> None:
    spans = Spans(recording.run._recorder)
    with recording.run.step() as step:
        parts_of_a_step(spans, ["forward"])
        before = recording.reader.step()
        child = os.fork()
        if not child:
            recording.ring.silence()  # as at a fork in a training
            parts_of_a_step(spans, ["backward"])
            step.__exit__(None, None, None)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert recording.reader.step() == before
        assert before[1] == parts.ENTRY.pack(spans.head("forward"), 0, 10)
    assert [row.name for row in recording.phases()] == ["forward", "step"]


def test_a_step_without_room_for_its_parts_ends_and_they_are_counted(tmp_path: Path) -> None:
    recording = Recording(tmp_path, (Sizes(64, 64, 4_096),))
    spans = Spans(recording.run._recorder)
    with recording.run.step():
        parts_of_a_step(spans)
    (drop,) = recording.of("drop")
    step = recording.phase()
    assert (drop.record.start, drop.record.parent, slots.REASONS[drop.record.state]) == (4, 4, "ring full")
    assert slots.DROPPED[drop.record.kind] == "phase"
    assert step.record.number == drop.record.number + 4
    recording.close()


def test_a_ring_is_of_the_version_before_until_a_step_record_may_lie_in_it(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    path = tmp_path / f"{'a' * 32}.ring"
    versions = []
    for act in (lambda: None, lambda: Spans(recording.run._recorder)):
        act()
        with recording.run.phase("train"):
            pass
        versions.append(path.read_bytes()[: len(layout.MAGIC)])
        reader = RingReader(path)
        assert [record.sort for record in reader.read()][-2:] == [slots.START, slots.END]
        reader.close()
    assert versions == [layout.MAGIC, layout.WITH_STEPS]
    recording.close()


def test_a_spool_of_the_version_before_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(segments, "LAYOUT", 1)
        shelf = Shelf(tmp_path)
        shelf.events(5)
        shelf.stream.journal.let_go()
    spool = Spool(tmp_path)
    spool.find({STREAM: (0, 0)})
    assert [record.sort for record in spool.streams[STREAM].take(9, 1 << 20)] == [slots.EVENT] * 5


def kept(folder: Path) -> tuple[Shelf, list[Record]]:
    """A stream on disk: an event, a step of two parts, an event; and what all of it stands for."""
    shelf = Shelf(folder)
    head = slots.head(slots.END, shelf.event)
    text = parts.COUNT.pack(2, 0) + parts.ENTRY.pack(head, 5, 7) + parts.ENTRY.pack(head, 7, 9) + b'{"items":1}'
    step = shelf.record(slots.STEP, number=1, name=shelf.event, other=2, start=-5, text=text)
    event = shelf.record(slots.EVENT, number=0, name=shelf.event)
    shelf.stream.admit([event, step, event._replace(number=2)], [])
    return shelf, shelf.stream.expanded(shelf.stream._recent)


def test_any_damage_on_disk_costs_a_steps_parts_at_most_and_is_counted(tmp_path: Path) -> None:
    shelf, want = kept(tmp_path)
    data = next(tmp_path.rglob("*.open")).read_bytes()
    assert [record.number for record in want] == [0, 1, 2, 3, 4]
    first = len(shelf.stream.head())  # what comes before is there twice
    for at in range(first, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        found = shelf.stream.expanded(segments.whole(segments.contents(bytes(damaged)).records, 0, 4))
        assert [record.number for record in found] == sorted({record.number for record in found})
        assert [end_of(record) for record in found[:-1]] == [record.number for record in found[1:]]
        assert end_of(found[-1]) == 5
        lost = sum(record.parent for record in found if record.sort == slots.DROP)
        assert lost <= 3
        same = [record for record in found if record in want]
        assert len(same) >= 5 - 3
        assert len(same) + lost >= 4  # with its parts a step loses its attributes too
    assert len(data) > first + 4 * CELL.size


class Served:
    """A ring and its stream, as a shipper serves them that may come and go."""

    def __init__(self, folder: Path, recording: Recording) -> None:
        self.recording, self.shelf = recording, Shelf(folder)
        self.come()

    def come(self) -> None:
        self.telling = Telling(self.recording.reader, self.shelf.stream)

    def look(self, *, writing: bool = True) -> list[Row]:
        """What the stream has after another look at the ring: phases only."""
        stream, reader = self.shelf.stream, self.recording.reader
        stream.admit(self.telling.untold(reader.read()), reader.names())
        self.telling.tell(writing=writing)
        reader.free(stream.life.next)
        records = stream.expanded(stream._recent)
        assert [record.number for record in records] == list(range(len(records)))
        assert stream.life.next == len(records)
        rows = [Row("phase", stream.life.names[one.name][0], one) for one in records if one.sort == slots.END]
        return [row for row in rows if row.name in (*NAMES, "step")]


@pytest.fixture
def served(tmp_path: Path, recording: Recording) -> Served:
    return Served(tmp_path / "served", recording)


def test_of_a_step_that_lasts_each_part_is_told_once_and_before_it_ends(
    recording: Recording, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = Spans(recording.run._recorder)
    with recording.run.step():
        parts_of_a_step(spans, NAMES[:1])
        assert not served.look()  # it is short
        monkeypatch.setattr(telling, "LONG_NS", 0)
        assert [row.name for row in served.look()] == NAMES[:1]
        assert len(served.look()) == 1
        parts_of_a_step(spans, NAMES[1:3])
        assert [row.name for row in served.look()] == NAMES[:3]
        served.come()  # another shipper
        assert len(served.look()) == 3
        parts_of_a_step(spans, NAMES[3:])
    rows = served.look()
    assert [row.name for row in rows] == [*NAMES, "step"]
    assert {row.record.parent for row in rows[:4]} == {rows[4].record.start}
    with recording.run.step():
        parts_of_a_step(spans)
    assert [row.name for row in served.look()] == 2 * [*NAMES, "step"]


def test_what_a_shipper_noted_and_did_not_write_the_next_one_tells(
    recording: Recording, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "LONG_NS", 0)
    spans = Spans(recording.run._recorder)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with recording.run.step():
        served.look()
        parts_of_a_step(spans)
        with monkeypatch.context() as patch:
            patch.setattr(served.shelf.stream, "insert", killed)
            with pytest.raises(KeyboardInterrupt):
                served.look()
        served.come()
        assert [row.name for row in served.look()] == NAMES
    assert [row.name for row in served.look()] == [*NAMES, "step"]


def test_a_shipper_that_was_killed_within_a_step_is_followed_by_one_that_tells_the_rest(
    recording: Recording, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "LONG_NS", 0)
    spans = Spans(recording.run._recorder)
    for lasts in (True, False):
        with recording.run.step():
            parts_of_a_step(spans, NAMES[:2])
            if lasts:
                served.look()
                parts_of_a_step(spans, NAMES[2:3])
                served.look()
    served.look()
    served.shelf.stream.journal.let_go()
    spool = Spool(served.shelf.spool.folder)
    resume = spool.find({STREAM: recording.reader.place()})
    stream = spool.streams[STREAM]
    assert resume[STREAM] == recording.reader.next
    assert stream.life.next == served.shelf.stream.life.next
    sent = [record for record in stream.take(1_000, 1 << 20) if record.sort == slots.END]
    names = [stream.life.names[record.name][0] for record in sent]
    assert names == [*NAMES[:3], "step", *NAMES[:2], "step"]


def test_of_a_process_that_is_gone_the_parts_of_its_last_step_are_told(recording: Recording, served: Served) -> None:
    spans = Spans(recording.run._recorder)
    with recording.run.step():
        parts_of_a_step(spans, NAMES[:2])
        assert [row.name for row in served.look(writing=False)] == NAMES[:2]


KILLED = """
import signal, roundwatch
from roundwatch.torch.spans import Spans
run = roundwatch.init("p", run_id="r", worker="w")
spans = Spans(run._recorder)
for number in run.steps(range(3)):
    for name in ("forward", "backward"):
        spans.write(spans.head(name), spans.here(), 1_000, 2_000)
    if number == 2:
        print("here", flush=True)
        signal.pause()
"""


def test_a_killed_process_loses_no_part_whose_end_was_seen(site: Site, collector: Collector) -> None:
    site.shipper()
    process = site.python(KILLED)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGKILL)
    heard = until(lambda: (one := collector.worker()).identity and "gone" in one.turns() and one, "it is gone")
    assert heard.whole()
    assert not heard.conflicts
    names = [(row["name"], row["state"]) for row in heard.phases() if row["name"] != "data"]
    step = [("forward", "ok"), ("backward", "ok"), ("step", "ok")]
    assert names == [*step, *step, *step[:2], ("step", "aborted")]


def test_a_ring_that_nobody_steps_in_has_no_step(tmp_path: Path) -> None:
    writer = ring.create(tmp_path, "s", b"{}", (Sizes(16, 256, 512),))
    reader = RingReader(tmp_path / "s.ring")
    assert reader.step() == (-1, b"")
    writer.close("finished")
    reader.close(remove=True)
