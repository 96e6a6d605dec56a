"""Sampling on time: deadlines that do not drift, and samplers that fail alone."""

import logging
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from roundwatch.samplers import host_samplers, host_threads
from roundwatch.samplers import loop as loop_module
from roundwatch.samplers.base import Reading
from roundwatch.samplers.loop import SamplerLoop, next_delay, period
from roundwatch.samplers.rates import Due
from roundwatch.samplers.steady import TELL_AGAIN_S, Steadied
from roundwatch.samplers.together import Seldom, Together
from tests.agents.collector import until


class Steady:
    """Always one reading."""

    name = "steady"
    absent: dict[str, str] = {}

    def read(self) -> list[Reading]:
        return [Reading("steady", "", 1.0)]


class Limit(Steady):
    """Always one reading of what is steady."""

    def read(self) -> list[Reading]:
        return [Reading("cgroup_memory_limit_bytes", "bytes", 5.0)]


class Silent:
    """Never a reading, as a sampler of absent hardware."""

    name = "silent"
    absent = {"silent": "no such hardware"}

    def read(self) -> list[Reading]:
        return []


class Broken:
    """Raises, each time with what it is told to."""

    name = "broken"
    absent: dict[str, str] = {}

    def __init__(self) -> None:
        self.says = "pulled out"

    def read(self) -> list[Reading]:
        raise RuntimeError(self.says)


class Hanging:
    """Answers as often as it is let to, and hangs otherwise."""

    name = "hanging"
    absent: dict[str, str] = {}

    def __init__(self) -> None:
        self._gate = threading.Semaphore(0)
        self.asked = 0

    def let(self, times: int) -> None:
        self._gate.release(times)

    def read(self) -> list[Reading]:
        self.asked += 1
        self._gate.acquire(timeout=30)
        return [Reading("hanging", "", float(self.asked))]


class Loops:
    """Makes loops, and sees to it that none of their threads is left."""

    def __init__(self) -> None:
        self.made: list[SamplerLoop] = []

    def __call__(self, *arguments: Any, **options: Any) -> SamplerLoop:
        self.made.append(SamplerLoop(*arguments, **options))
        return self.made[-1]


@pytest.fixture(autouse=True)
def loops() -> Iterator[Loops]:
    before = set(threading.enumerate())
    loops = Loops()
    yield loops
    for loop in loops.made:
        loop.stop()
    until(lambda: set(threading.enumerate()) <= before, "all threads are gone")


def test_a_hanging_sampler_holds_up_no_other_and_is_not_asked_again(loops: Loops) -> None:
    hanging = Hanging()
    emitted: list[list[Reading]] = []
    loop = loops([hanging, Steady()], lambda readings, _: emitted.append(readings), patience_s=0.01)
    for _ in range(3):
        loop.tick()
    hanging.let(9)
    loop.stop()
    until(lambda: not any(thread.name == "roundwatch-hanging" for thread in threading.enumerate()), "its thread ends")
    assert [[reading.metric for reading in readings] for readings in emitted] == [["steady"]] * 3
    assert hanging.asked == 1


def test_an_answer_that_came_late_is_told_with_the_next_reading(loops: Loops) -> None:
    hanging = Hanging()
    emitted: list[list[Reading]] = []
    loop = loops([hanging], lambda readings, _: emitted.append(readings), patience_s=0.01)
    loop.tick()
    hanging.let(1)
    until(lambda: not loop._hands[0]._answers.empty(), "the answer is there, too late for its own reading")
    loop.tick()
    assert emitted == [[Reading("hanging", "", 1.0)]]
    hanging.let(9)


def test_an_answer_that_came_late_is_told_also_where_the_next_fails_and_no_more_where_it_is_told_anew(
    loops: Loops,
) -> None:
    class Late:
        name = "late"
        absent: dict[str, str] = {}

        def __init__(self) -> None:
            self.gate = threading.Event()
            self.answers: list[list[Reading]] = []

        def read(self) -> list[Reading]:
            self.gate.wait(30)
            if not self.answers:
                raise RuntimeError("pulled out")
            return self.answers.pop(0)

    late = Late()
    emitted: list[list[Reading]] = []
    loop = loops([late], lambda readings, _: emitted.append(readings), patience_s=0.01)

    def tick_after(*answers: list[Reading]) -> None:
        late.gate.clear()
        late.answers = list(answers)
        loop.tick()
        late.gate.set()
        until(lambda: not loop._hands[0]._answers.empty(), "the answer is there, too late for its own reading")
        loop._patience_s = 30.0
        loop.tick()
        loop._patience_s = 0.01

    tick_after([Reading("a", "", 1.0)])
    tick_after([Reading("a", "", 2.0), Reading("b", "", 2.0)], [Reading("a", "", 3.0)])
    assert emitted == [[Reading("a", "", 1.0)], [Reading("a", "", 3.0), Reading("b", "", 2.0)]]


def test_a_sampler_that_hangs_for_long_is_said_once(
    loops: Loops, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_module, "STUCK_S", 0.0)
    hanging = Hanging()
    loop = loops([hanging], lambda *_: None, patience_s=0.01)
    for _ in range(3):
        loop.tick()
    hanging.let(9)
    assert [record.message for record in caplog.records] == ["sampling: hanging does not answer"]


def test_what_is_steady_is_told_when_it_changes_and_again_after_a_while() -> None:
    now = [0.0]
    steadied = Steadied(clock=lambda: now[0])

    def told(limit: float) -> list[str]:
        used, quota = Reading("cgroup_cpu_usage_cpus", "cpus", 1.0), Reading("cgroup_cpu_quota_cpus", "cpus", limit)
        return [reading.metric.split("_")[2] for reading in steadied.new([used, quota])]

    assert told(5.0) == ["usage", "quota"]
    assert told(5.0) == ["usage"], "what says something of the time since is told always"
    assert told(6.0) == ["usage", "quota"]
    now[0] = TELL_AGAIN_S
    assert told(6.0) == ["usage", "quota"]


def test_what_is_read_seldom_is_read_at_first_and_then_once_a_period() -> None:
    now = [100.0]
    due, rate = Due(5.0, lambda: now[0]), Due(5.0, lambda: now[0], twice=True)
    found = []
    for second in range(12):
        now[0] = 100.0 + second + 0.01 * (second % 3)  # readings are late by some of a period, each by another
        found.append((due(), rate()))
    assert [second for second, (is_due, _) in enumerate(found) if is_due] == [0, 5, 10]
    assert [second for second, (_, is_due) in enumerate(found) if is_due] == [0, 1, 6, 11]


def test_samplers_of_one_place_share_a_thread_and_what_is_steady_is_left_to_the_loop() -> None:
    flat, threads = host_samplers(), host_threads()
    assert len(threads) < len(flat)
    assert [sampler.name for thread in threads for sampler in thread.samplers] == [one.name for one in flat]
    together = Together([Steady(), Limit()], steadied=False)
    assert [len(list(together.read())) for _ in range(2)] == [2, 2]
    together = Together([Steady(), Limit()])
    assert [len(list(together.read())) for _ in range(2)] == [2, 1]


def test_what_one_of_several_trips_over_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    together = Together([Broken(), Steady()])
    assert list(together.read()) == [Reading("steady", "", 1.0)]
    together.read()
    assert "pulled out" in together.absent["broken"]
    assert len(caplog.records) == 1


def test_what_takes_long_is_read_seldom_and_told_once() -> None:
    now = [0.0]
    seldom = Seldom(Steady(), 30.0, clock=lambda: now[0])
    assert seldom.read() == []
    seldom.settle(10)
    assert seldom.read() == [Reading("steady", "", 1.0)]
    now[0] = 29.0
    assert seldom.read() == []
    seldom.settle(10)
    assert seldom.read() == []
    now[0] = 30.0
    assert seldom.read() == []
    seldom.settle(10)
    assert seldom.read() == [Reading("steady", "", 1.0)]


def test_what_takes_very_long_is_read_more_seldom_yet() -> None:
    now = [0.0]

    class Slow(Steady):
        def read(self) -> list[Reading]:
            now[0] += 1.0
            return super().read()

    seldom = Seldom(Slow(), 30.0, clock=lambda: now[0])
    seldom.read()
    seldom.settle(10)
    assert seldom.read()
    now[0] = 900.0
    assert seldom.read() == []
    seldom.settle(10)
    assert seldom.read() == [], "a second each 900 would be more than a thousandth of the time"


def test_a_failing_sampler_does_not_stop_the_others(loops: Loops) -> None:
    emitted: list[list[Reading]] = []
    loop = loops([Broken(), Steady(), Broken()], lambda readings, _: emitted.append(readings))
    loop.tick()
    assert emitted == [[Reading("steady", "", 1.0)]]


def test_a_failure_is_said_once_for_each_message(loops: Loops, caplog: pytest.LogCaptureFixture) -> None:
    broken = Broken()
    loop = loops([broken], lambda *_: None)
    with caplog.at_level(logging.WARNING, logger="roundwatch"):
        loop.tick()
        loop.tick()
        assert len(caplog.records) == 1
        broken.says = "plugged in wrongly"
        loop.tick()
    assert [record.message.count("broken") for record in caplog.records] == [1, 1]


def test_a_failing_emit_does_not_end_the_loop(loops: Loops, caplog: pytest.LogCaptureFixture) -> None:
    def emit(_readings: list[Reading], _time_ns: int) -> None:
        raise OSError("disk full")

    loop = loops([Steady()], emit)
    loop.tick()
    loop.tick()
    assert "disk full" in caplog.text


def test_nothing_read_is_nothing_emitted(loops: Loops) -> None:
    emitted: list[object] = []
    loops([Silent()], lambda readings, _: emitted.append(readings)).tick()
    assert emitted == []


def test_readings_carry_the_monotonic_time_of_their_reading(loops: Loops) -> None:
    times: list[int] = []
    before = time.monotonic_ns()
    loops([Steady()], lambda _, time_ns: times.append(time_ns)).tick()
    assert before <= times[0] <= time.monotonic_ns()


@pytest.mark.parametrize(
    ("now", "delay"),
    [
        (100.0, 2.0),  # the first reading comes after one period
        (102.5, 1.5),  # late by half a second: the next deadline stays where it was
        (109.0, 1.0),  # missed deadlines are passed over, not caught up
        (110.0, 2.0),
    ],
)
def test_deadlines_lie_on_a_grid(now: float, delay: float) -> None:
    assert next_delay(100.0, now, 2.0) == pytest.approx(delay)


@pytest.mark.parametrize(
    ("said", "seconds"), [("", 2.0), ("1", 1.0), ("0", 0.5), ("600", 10.0), ("nan", 2.0), ("often", 2.0)]
)
def test_how_often_is_read_may_be_said_within_bounds(said: str, seconds: float) -> None:
    assert period({"ROUNDWATCH_SAMPLE_S": said}) == seconds
    assert period({}) == 2.0


def test_the_thread_samples_until_it_is_stopped_and_then_is_gone(loops: Loops) -> None:
    enough = threading.Event()
    times: list[int] = []

    def emit(_readings: list[Reading], time_ns: int) -> None:
        times.append(time_ns)
        if len(times) == 3:
            enough.set()

    loop = loops([Steady()], emit, period_s=0.01)
    loop.start()
    assert enough.wait(10)
    loop.stop()
    assert not any(thread.name == "roundwatch-samplers" for thread in threading.enumerate())
    assert all(before < after for before, after in pairwise(times))
