"""One process's step, part by part: what is recorded of accumulation, evaluation, failures and devices."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roundwatch import slots
from roundwatch.phases import Recorder
from tests.agents.recorder import Recording, Row

torch = pytest.importorskip("torch", reason="torch is not installed here")
WHOLE = ["forward", "backward", "allreduce", "optimizer"]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[None]:
    """A process group of this process alone."""
    meeting = f"file://{tmp_path}/meeting"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def network(*more: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(4, 4), *more)


def parallel(*more: Any) -> Any:
    return torch.nn.parallel.DistributedDataParallel(network(*more))


def names(recording: Recording) -> list[str]:
    return [row.name for row in recording.phases()]


def learn(model: Any) -> None:
    model(torch.ones(2, 4)).sum().backward()


def test_a_step_and_its_parts_are_one_record_and_the_hooks_write_none(recording: Recording, group: None) -> None:
    model = parallel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recording.run.watch_ddp(model)
    written: list[int] = []
    with recording.run.round(0):
        for _ in recording.run.steps(range(2)):
            learn(model)
            written += [record.sort for record in recording.reader.read()]
            optimizer.step()
        written += [record.sort for record in recording.reader.read()]
    of_phases = [sort for sort in written if sort in (slots.START, slots.END, slots.STEP)]
    data, begun = [slots.START, slots.END], slots.START
    assert of_phases == [*data, begun, slots.STEP, *data, begun, slots.STEP, *data]


def test_what_a_devices_memory_holds_is_read_as_seldom_as_it_is_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    from roundwatch.torch import memory

    clock, read = Clock(), []
    monkeypatch.setattr("roundwatch.torch.memory.time.monotonic_ns", clock.monotonic_ns)

    def counters() -> dict[str, dict[str, dict[str, int]]]:
        read.append(clock.ns)
        clock.ns += 20_000
        return {"allocated_bytes": {"all": {"peak": 5}}, "reserved_bytes": {"all": {"current": 7, "peak": 9}}}

    device = memory.DeviceMemory(counters)
    for _ in range(100):  # steps of 10 ms
        assert device.read() in ((5, 7), None)
        clock.ns += 10_000_000
    assert len(read) == 25  # of 20 us each, once in 40 ms
    silent = memory.DeviceMemory(dict)
    assert silent.read() is None
    clock.ns += 10**12
    assert silent.read() is None


def test_a_step_is_four_records_within_what_is_open_around_it(recording: Recording, group: None) -> None:
    model = parallel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recording.run.watch_ddp(model)
    recording.run.next_round()
    with recording.run.phase("train"):
        learn(model)
        optimizer.step()
    *inner, train = recording.phases()
    assert [row.name for row in inner] == WHOLE
    assert {row.record.parent for row in inner} == {train.record.start}
    assert {row.record.round for row in inner} == {0}
    assert len(recording.of("start")) == 1  # train's: the others are written once


def test_buffers_that_ranks_agree_on_are_told_apart_from_the_forward_pass(recording: Recording, group: None) -> None:
    model = parallel(torch.nn.BatchNorm1d(4))
    recording.run.watch_ddp(model)
    learn(model)
    assert names(recording) == ["broadcast", *WHOLE[:3]]


def test_of_many_short_steps_some_say_how_long_their_buckets_travelled(
    recording: Recording, group: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from roundwatch.torch import overlap

    monkeypatch.setattr(overlap, "SHORT_NS", 1 << 62)
    model = parallel()
    learn(model)  # DDP counts its steps on its own
    recording.run.watch_ddp(model)
    for _ in range(200):
        learn(model)
    *_, told = reduced = [row.attrs for row in recording.phases() if row.name == "allreduce"]
    late = [attrs for attrs in reduced[100:] if "comm_s" in attrs]
    assert told["seq"] == 199
    assert [attrs["seq"] for attrs in late] == list(range(110, 200, 16))  # those that DDP itself has measured
    assert all(0 <= attrs["overlap_s"] <= attrs["comm_s"] for attrs in late)


def test_accumulated_steps_reduce_once(recording: Recording, group: None) -> None:
    model = parallel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recording.run.watch_ddp(model)
    with model.no_sync():
        learn(model)
    learn(model)
    optimizer.step()
    assert names(recording) == ["forward", "backward", *WHOLE]


def test_a_model_that_is_not_parallel_has_all_but_the_all_reduce(recording: Recording) -> None:
    model = network()
    recording.run.watch_ddp(model)
    learn(model)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert names(recording) == ["forward", "backward", "optimizer"]


def test_evaluation_and_other_optimizers_are_not_steps_of_the_model(recording: Recording) -> None:
    model, other = network(), network()
    recording.run.watch_ddp(model)
    with torch.no_grad():
        model(torch.ones(2, 4))
    model.eval()
    model(torch.ones(2, 4))
    torch.optim.SGD(other.parameters(), lr=0.1).step()
    assert not names(recording)


def test_what_is_within_the_wrapper_says_whether_it_trains(recording: Recording, group: None) -> None:
    model = parallel()
    recording.run.watch_ddp(model)
    model.eval()
    learn(model)
    assert not names(recording)
    model.module.train()
    learn(model)
    assert names(recording) == WHOLE[:3]


def test_outputs_of_any_shape_lead_to_the_backward_pass(recording: Recording) -> None:
    class Nested(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = network()

        def forward(self, batch: Any) -> Any:
            return {"hidden": [self.inner(batch)], "count": 3}

    model = Nested()
    recording.run.watch_ddp(model)
    model(torch.ones(2, 4))["hidden"][0].sum().backward()
    assert names(recording) == ["forward", "backward"]


def test_a_backward_pass_that_fails_does_so_as_without_us_and_the_next_is_recorded(recording: Recording) -> None:
    class Failing(torch.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(_: Any, value: Any) -> Any:
            return value.clone()

        @staticmethod
        def backward(*_: Any) -> Any:
            raise ArithmeticError("as it happens")

    model = network()
    recording.run.watch_ddp(model)
    hidden = Failing.apply(torch.ones(2, 4, requires_grad=True))
    with pytest.raises(ArithmeticError):
        model(hidden).sum().backward()
    learn(model)
    assert names(recording) == ["forward", "forward", "backward"]


def test_what_fails_in_a_hook_of_ours_costs_its_part_and_is_counted(
    recording: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise ArithmeticError("as it happens")

    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    recording.run.watch_ddp(model)
    (watch,) = recording.run._watches
    for hook in ("_place", "_now", "_write"):
        working = getattr(watch, hook)
        setattr(watch, hook, fail)
        learn(model)
        optimizer.step()
        setattr(watch, hook, working)
    assert "a part of a step is left out: ArithmeticError: as it happens" in caplog.text
    learn(model)
    assert names(recording)[-2:] == ["forward", "backward"]


def test_after_the_end_no_hook_is_left(recording: Recording) -> None:
    model = network()
    recording.run.watch_ddp(model)
    recording.run.finish()
    assert not model._forward_pre_hooks
    assert not model._forward_hooks


def test_what_is_no_model_is_left_out_and_nothing_is_raised(recording: Recording) -> None:
    recording.run.watch_ddp("a model")
    assert not recording.phases()


class Device:
    """A device whose clock the test turns: events complete when it has gone past them."""

    def __init__(self) -> None:
        self.now_ms, self.queue_ms, self.made, self.asked = 0.0, 0.0, 0, 0

    def event(self) -> "Event":
        self.made += 1
        return Event(self)


class Event:
    def __init__(self, device: Device) -> None:
        self.device, self.at_ms = device, 0.0

    def record(self) -> None:
        self.at_ms = self.device.queue_ms

    def query(self) -> bool:
        self.device.asked += 1
        return self.device.now_ms >= self.at_ms

    def elapsed_time(self, other: "Event") -> float:
        assert self.query()
        assert other.query()  # of an event that has not completed a device tells nothing
        return other.at_ms - self.at_ms


class Clock:
    """The host's clock, in nanoseconds."""

    def __init__(self) -> None:
        self.ns = 1_000_000_000

    def monotonic_ns(self) -> int:
        return self.ns


def test_a_devices_phases_are_polled_and_have_the_devices_durations(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    from roundwatch.torch import marks, spans

    device, clock = Device(), Clock()
    monkeypatch.setattr("roundwatch.torch.marks.time.monotonic_ns", clock.monotonic_ns)
    on_device = spans.Spans(recording.run._recorder)
    timed = marks.DeviceMarks(on_device, device.event, lambda: False)
    head = on_device.head("forward", device=True)
    recording.run.next_round()
    done: list[Row] = []
    for _ in range(50):
        begin = timed.now()
        device.queue_ms += 10  # the host gives work of 10 ms in 1 ms and runs ahead
        clock.ns += 1_000_000
        timed.write(head, timed.where(), begin, timed.now())
        timed.poll()
        assert len(recording.phases()) == len(done)  # nothing has completed, and nobody waits for it
        device.now_ms = device.queue_ms
        clock.ns += 9_000_000
        timed.poll()
        done = recording.phases()
    assert len(done) == 50
    assert device.made <= 4  # events are used again
    for row in done:
        assert row.record.t1 == 10_000_000
        assert row.attrs == {"device": True}
        assert row.record.round == 0
        assert row.record.parent == -1
    assert all(after.record.t0 - before.record.t0 == 10_000_000 for before, after in itertools.pairwise(done))
    assert done[0].record.thread != _thread_of_host(recording.run._recorder)


def test_nothing_is_marked_or_asked_while_a_graph_is_captured(recording: Recording) -> None:
    from roundwatch.torch import marks, spans

    device, capturing = Device(), [False]
    timed = marks.DeviceMarks(spans.Spans(recording.run._recorder), device.event, lambda: capturing[0])
    assert timed.now() is not None
    capturing[0] = True
    asked = device.asked
    assert timed.now() is None
    timed.poll()
    assert device.asked == asked
    capturing[0] = False
    timed.poll()
    assert device.asked > asked


def _thread_of_host(recorder: Recorder) -> int:
    return int(recorder.here().ground.thread)
