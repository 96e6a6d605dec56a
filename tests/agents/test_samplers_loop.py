"""Sampling on time: deadlines that do not drift, and samplers that fail alone."""

import logging
import threading
import time

import pytest

from roundwatch.samplers.base import Reading
from roundwatch.samplers.loop import SamplerLoop, next_delay


class Steady:
    """Always one reading."""

    name = "steady"
    absent: dict[str, str] = {}

    def read(self) -> list[Reading]:
        return [Reading("steady", "", 1.0)]


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


def test_a_failing_sampler_does_not_stop_the_others() -> None:
    emitted: list[list[Reading]] = []
    loop = SamplerLoop([Broken(), Steady(), Broken()], lambda readings, _: emitted.append(readings))
    loop.tick()
    assert emitted == [[Reading("steady", "", 1.0)]]


def test_a_failure_is_said_once_for_each_message(caplog: pytest.LogCaptureFixture) -> None:
    broken = Broken()
    loop = SamplerLoop([broken], lambda *_: None)
    with caplog.at_level(logging.WARNING, logger="roundwatch"):
        loop.tick()
        loop.tick()
        assert len(caplog.records) == 1
        broken.says = "plugged in wrongly"
        loop.tick()
    assert [record.message.count("broken") for record in caplog.records] == [1, 1]


def test_a_failing_emit_does_not_end_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    def emit(_readings: list[Reading], _time_ns: int) -> None:
        raise OSError("disk full")

    loop = SamplerLoop([Steady()], emit)
    loop.tick()
    loop.tick()
    assert "disk full" in caplog.text


def test_nothing_read_is_nothing_emitted() -> None:
    emitted: list[object] = []
    SamplerLoop([Silent()], lambda readings, _: emitted.append(readings)).tick()
    assert emitted == []


def test_readings_carry_the_monotonic_time_of_their_reading() -> None:
    times: list[int] = []
    before = time.monotonic_ns()
    SamplerLoop([Steady()], lambda _, time_ns: times.append(time_ns)).tick()
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


def test_the_thread_samples_until_it_is_stopped_and_then_is_gone() -> None:
    enough = threading.Event()
    times: list[int] = []

    def emit(_readings: list[Reading], time_ns: int) -> None:
        times.append(time_ns)
        if len(times) == 3:
            enough.set()

    loop = SamplerLoop([Steady()], emit, period_s=0.01)
    loop.start()
    assert enough.wait(10)
    loop.stop()
    count = len(times)
    assert not any(thread.name == "roundwatch-samplers" for thread in threading.enumerate())
    assert len(times) == count
    assert times == sorted(times)
