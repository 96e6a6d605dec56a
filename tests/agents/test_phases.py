"""What phases, rounds, steps and the other calls of a run record."""

import asyncio
import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundwatch.layout import Sizes
from tests.agents.collector import until
from tests.agents.recorder import Recording, Row


def test_a_phase_is_recorded_when_it_begins_and_whole_when_it_ends(recording: Recording) -> None:
    before = time.monotonic_ns()
    with recording.run.round(3), recording.run.phase("train"):
        (start,) = recording.of("start")
        assert not recording.phases()
    phase = recording.phase()
    assert (phase.name, phase.kind, phase.state, phase.record.round) == ("train", "compute", "ok", 3)
    assert phase.record.start == start.record.number
    assert before <= phase.record.t0 <= phase.record.t0 + phase.record.t1 <= time.monotonic_ns()


def test_a_kind_that_is_given_counts_and_an_unknown_name_is_other(recording: Recording) -> None:
    for name, kind in (("train", "wait"), ("train", None), ("odd", None), ("odd", "nonsense"), ("odd", "encode")):
        with recording.run.phase(name, kind=kind):
            pass
    assert [phase.kind for phase in recording.phases()] == ["wait", "compute", "other", "other", "encode"]


def test_attributes_are_those_known_at_the_end(recording: Recording) -> None:
    with recording.run.phase("upload", after="encode", device=True, nbytes=5, part="a") as phase:
        phase.set(nbytes=7, codec="q4")
    assert recording.of("start")[0].attrs == {"nbytes": 5, "part": "a", "after": "encode", "device": True}
    assert recording.phase().attrs == {"nbytes": 7, "part": "a", "codec": "q4", "after": "encode", "device": True}


def test_a_phase_without_attributes_has_none_of_what_lay_in_its_slot_before(tmp_path: Path) -> None:
    recording = Recording(tmp_path, (Sizes(64, 4_096, 4_096),))
    for number in range(200):
        with recording.run.phase("upload", number=number):
            pass
        with recording.run.phase("train"), recording.run.phase("forward"):
            pass
        recording.read()
    recording.close()
    plain = [row for row in recording.rows if row.name in ("train", "forward")]
    assert len(plain) == 200 * 4
    assert all(not row.attrs for row in plain)
    assert all(row.record.t1 == 0 for row in plain if row.sort == "start")


def test_an_exception_ends_the_phase_as_an_error_and_passes_on(recording: Recording) -> None:
    with pytest.raises(ValueError, match="no such codec"), recording.run.phase("encode"):
        raise ValueError("no such codec")
    assert recording.phase().state == "error"
    assert recording.phase().attrs == {"error": "ValueError: no such codec"}


def test_nested_phases_know_the_one_around_them(recording: Recording) -> None:
    run = recording.run
    with run.phase("train"):
        with run.phase("data"):
            pass
        with run.phase("forward"):
            pass
    with run.phase("encode"):
        pass
    data, forward, train, encode = recording.phases()
    assert data.record.parent == forward.record.parent == train.record.start
    assert train.record.parent == encode.record.parent == -1


def test_a_function_under_a_phase_records_each_of_its_calls(recording: Recording) -> None:
    @recording.run.phase("train", items=4)
    def train(depth: int) -> int:
        return depth and train(depth - 1) + 1

    assert train(2) == 2
    inner, middle, outer = recording.phases()
    assert (inner.record.parent, middle.record.parent) == (middle.record.start, outer.record.start)
    assert outer.attrs == {"items": 4}
    assert train.__name__ == "train"


async def test_tasks_have_parents_of_their_own(recording: Recording) -> None:
    run = recording.run
    inside = asyncio.Barrier(2)

    @run.phase("outer")
    async def task(name: str) -> None:
        with run.phase(name):
            await inside.wait()

    await asyncio.gather(task("a"), task("b"))
    phases = recording.phases()
    starts = {row.record.number: row for row in recording.of("start")}
    outers = [starts[phase.record.parent] for phase in phases if phase.name in "ab"]
    assert [outer.name for outer in outers] == ["outer", "outer"]
    assert outers[0] is not outers[1]


async def test_a_phase_in_a_worker_thread_is_no_child_of_the_one_that_awaits_it(recording: Recording) -> None:
    run = recording.run

    def work() -> None:
        with run.phase("encode"):
            pass

    with run.round(5), run.phase("train"):
        await asyncio.to_thread(work)
    encode, train = recording.phases()
    assert encode.record.parent == -1
    assert (encode.record.round, train.record.round) == (5, 5)
    assert encode.record.thread != train.record.thread


def test_threads_are_numbered_and_follow_the_round_that_began_last(recording: Recording) -> None:
    run = recording.run
    barrier = threading.Barrier(2)

    def work() -> None:
        for _ in range(2):
            barrier.wait()
            with run.phase("upload"):
                pass
            barrier.wait()

    thread = threading.Thread(target=work)
    with run.phase("train"):
        pass
    thread.start()
    for _ in range(2):
        with run.round():
            barrier.wait()
            barrier.wait()
    thread.join()
    train, *uploads = recording.phases()
    assert (train.record.thread, train.record.round) == (0, -1)
    assert [(row.record.thread, row.record.round) for row in uploads] == [(1, 0), (1, 1)]


def test_a_thread_that_entered_a_round_stays_in_it(recording: Recording) -> None:
    run = recording.run
    barrier = threading.Barrier(2)

    def late() -> None:
        with run.round(7):
            barrier.wait()
            barrier.wait()
            with run.phase("upload"):
                pass

    thread = threading.Thread(target=late)
    thread.start()
    barrier.wait()
    with run.round(8):
        barrier.wait()
        thread.join()
        with run.phase("train"):
            pass
    assert [(row.name, row.record.round) for row in recording.phases()] == [("upload", 7), ("train", 8)]


def test_many_threads_lose_nothing(recording: Recording) -> None:
    def work(name: str) -> None:
        for number in range(300):
            with recording.run.phase(name, i=number):
                pass

    threads = [threading.Thread(target=work, args=(f"t{index}",)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = [(row.name, row.attrs["i"]) for row in recording.phases()]
    assert sorted(seen) == sorted((f"t{index}", number) for index in range(6) for number in range(300))


def test_rounds_begin_and_end_and_count_on_by_themselves(recording: Recording) -> None:
    run = recording.run
    with run.round(4):
        pass
    with run.round():
        pass
    begin, end, *later = recording.of("round")
    assert (begin.record.round, begin.record.start, end.record.start) == (4, 0, 1)
    assert begin.record.t0 == end.record.t0
    assert [row.record.round for row in later] == [5, 5]


def test_what_comes_between_rounds_counts_to_the_one_before(recording: Recording) -> None:
    run = recording.run
    for index in range(2):
        with run.round(index):
            pass
        run.log({"loss": 1.0})
    assert [row.record.round for row in recording.of("sample")] == [0, 1]


def test_a_flat_loop_needs_one_call(recording: Recording) -> None:
    run = recording.run
    for _ in range(2):
        run.next_round()
        with run.phase("train"):
            pass
    run.finish()
    rounds = [(row.record.round, row.record.start) for row in recording.of("round")]
    assert rounds == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [row.record.round for row in recording.phases()] == [0, 1]


def test_memory_is_read_at_boundaries_of_rounds_but_not_at_each_of_many_short_ones(recording: Recording) -> None:
    def readings() -> list[Row]:
        recording.read()
        return [row for row in recording.rows if row.metric[2:] == ("process",)]

    with recording.run.round(0):
        assert [row.name for row in readings()] == ["process_memory_bytes", "process_memory_shared_bytes"]
        assert readings()[0].record.t1 > 1 << 20
    for _ in recording.run.steps(range(10)):
        pass
    assert len(readings()) == 2
    until(lambda: recording.run.next_round() or len(readings()) == 4, "it is read again")


def test_steps_are_rounds_where_no_round_is_open(recording: Recording) -> None:
    for batch in recording.run.steps(["a", "b"]):
        with recording.run.phase("forward", batch=batch):
            pass
    assert [(row.record.round, row.record.start) for row in recording.of("round")] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    found = [(row.name, row.record.round) for row in recording.phases()]
    assert found == [
        ("data", 0), ("forward", 0), ("step", 0), ("data", 1), ("forward", 1), ("step", 1), ("data", 1),
    ]  # fmt: skip
    assert all(row.state == "ok" for row in recording.phases())


def test_a_round_of_steps_begins_with_the_wait_for_its_data(recording: Recording) -> None:
    list(recording.run.steps([1]))
    assert recording.of("round")[0].record.t0 == recording.phases()[0].record.t0


def test_what_follows_the_loop_counts_to_the_last_step_unless_it_has_a_round_of_its_own(recording: Recording) -> None:
    list(recording.run.steps(range(3)))
    with recording.run.phase("save"):
        pass
    with recording.run.round(), recording.run.phase("eval"):
        pass
    rounds = {row.name: row.record.round for row in recording.phases()}
    assert (rounds["save"], rounds["eval"]) == (2, 3)


def test_steps_within_a_round_are_phases_of_it(recording: Recording) -> None:
    run = recording.run
    with run.round(6):
        for _ in run.steps(range(2)):
            pass
        with run.step(9):
            pass
    assert len(recording.of("round")) == 2
    assert [row.name for row in recording.phases()] == ["data", "step", "data", "step", "data", "step"]
    assert {row.record.round for row in recording.phases()} == {6}
    assert recording.phases()[-1].attrs == {"step": 9}


def test_a_loop_left_early_ends_its_step_without_an_error(recording: Recording) -> None:
    for _ in recording.run.steps(range(9)):
        break
    with recording.run.phase("eval"):
        pass
    assert [(row.name, row.state) for row in recording.phases()] == [("data", "ok"), ("step", "ok"), ("eval", "ok")]
    assert recording.phases()[-1].record.parent == -1


def test_an_error_of_the_data_passes_on(recording: Recording) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        list(recording.run.steps(items()))
    assert recording.phases()[-1].state == "error"


def test_events_and_numbers_are_recorded_with_their_round(recording: Recording) -> None:
    run = recording.run
    with run.round(2):
        run.event("sync start", hosts=4)
        run.event("bare")
        run.log({"loss": 0.5, "inf": math.inf, "nan": math.nan, "count": 3, "text": "no number"})
    event, bare = recording.of("event")
    assert (event.name, event.attrs, event.record.round, bare.name) == ("sync start", {"hosts": 4}, 2, "bare")
    samples = {row.name: row for row in recording.of("sample")}
    assert list(samples) == ["loss", "inf", "nan", "count"]
    assert samples["loss"].metric == ("loss", "", "training")
    assert (samples["loss"].record.t1, samples["inf"].record.t1, samples["count"].record.t1) == (0.5, math.inf, 3.0)
    assert math.isnan(samples["nan"].record.t1)


def test_progress_belongs_to_the_innermost_open_phase(recording: Recording) -> None:
    run = recording.run
    run.progress(1, 2)
    with run.phase("train"), run.phase("forward"):
        run.progress(1, 4)
        run.progress(1, 0)
        train, forward = (row.record.number for row in recording.of("start"))
        assert recording.reader.progress(forward) == 0.25
        assert recording.reader.progress(train) is None


def test_phases_and_samples_of_others_keep_their_times_and_workers(recording: Recording) -> None:
    run = recording.run
    run.record_phase("encode", 1_000, 3_000, round=4, worker="rank-7", kind="encode", nbytes=8)
    run.record_phase("encode", 3_000, 1_000, round=4)
    run.record_sample("power", 250.0, 5_000, worker="rank-7", device="gpu1")
    run.record_sample("power", 250.0, -1)
    phase = recording.phase()
    assert (phase.record.t0, phase.record.t1, phase.record.clock, phase.record.round) == (1_000, 2_000, 1, 4)
    assert (phase.worker, phase.attrs, phase.record.start) == ("rank-7", {"nbytes": 8}, phase.record.number)
    (sample,) = recording.of("sample")
    assert (sample.worker, sample.record.t0, sample.record.clock, sample.record.t1) == ("rank-7", 5_000, 1, 250.0)
    assert recording.life.names[sample.record.start] == ("gpu1",)


class Hostile:
    """Refuses everything that one may ask an object for."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __float__ = __int__ = __hash__ = __str__  # type: ignore[assignment]


def test_nothing_that_a_training_passes_makes_a_call_raise(recording: Recording) -> None:
    run, hostile, hostile_key = recording.run, Hostile(), (1, 2)
    with run.phase(hostile, kind=hostile, bad=hostile, nan=math.nan, huge=10**400):  # type: ignore[arg-type]
        run.progress(hostile, hostile)  # type: ignore[arg-type]
    with run.round(hostile), run.step(hostile), run.phase("x" * 1_000_000):  # type: ignore[arg-type]
        pass
    run.event("\ud800 \x00", **{"\ud800": "\ud800", "big": "y" * 100_000})
    run.log({"a": hostile, "b": 10**400, hostile_key: 1.0})
    run.log(hostile)  # type: ignore[arg-type]
    run.record_phase("x", hostile, None, round=hostile)  # type: ignore[arg-type]
    run.record_sample("x", hostile, hostile)  # type: ignore[arg-type]
    assert [len(row.name) for row in recording.phases()] == [len("(unnamed)"), 128, len("step")]
    assert recording.of("event")[0].attrs["big"] == "y" * 1_024


def test_calls_after_the_end_do_nothing(recording: Recording) -> None:
    run = recording.run
    run.finish()
    with run.round(1), run.phase("train", nbytes=1) as phase:
        phase.set(x=1)
        run.progress(1, 2)
    run.log({"loss": 1.0})
    run.event("late")
    run.next_round()
    run.finish("failed")
    assert [row.name for row in recording.read()] == ["finish"]
    assert recording.reader.end_state() == "finished"
