"""What doctor says of samplers and devices: values, reasons, and which sampler hangs."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundwatch.cli import hardware
from roundwatch.samplers.base import Reading
from tests.agents.fakes.kernel import Kernel


class Hanging:
    """Does not answer before the test ends."""

    name = "nvidia"
    absent: dict[str, str] = {}

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def read(self) -> list[Reading]:
        self.let_go.wait(30)
        return []


class Counting:
    """A rate needs two readings; what is read seldom is in the first alone."""

    name = "counting"

    def __init__(self) -> None:
        self.absent: dict[str, str] = {"rate": "needs two readings", "other": "not supported by this device"}
        self.turn = 0

    def read(self) -> list[Reading]:
        self.turn += 1
        if self.turn == 1:
            return [Reading("seldom", "bytes", 2048.0, "gpu0")]
        self.absent = {"other": "not supported by this device", "seldom gpu0": "not now"}
        return [Reading("rate", "ratio", 0.5)]


class Broken(Counting):
    """Fails."""

    name = "broken"

    def read(self) -> list[Reading]:
        raise RuntimeError("pulled out")


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    monkeypatch.setattr(hardware, "RATE_S", 0.0)
    monkeypatch.setattr(hardware, "PATIENCE_S", 0.2)
    hanging = Hanging()
    yield hanging
    hanging.let_go.set()


def test_each_metric_is_told_or_the_reason_why_not_and_a_hanging_sampler_holds_up_none(hanging: Hanging) -> None:
    lines = {line.subject: line for line in hardware.sample_lines([hanging, Broken(), Counting()])}
    assert lines["seldom gpu0"].text == "2 KiB"
    assert lines["rate"].text == "50.0%"
    assert (lines["other"].mark, lines["other"].text) == ("none", "not collected: not supported by this device")
    assert (lines["nvidia"].mark, "does not answer" in lines["nvidia"].text) == ("warn", True)
    assert "pulled out" in lines["broken"].text


def test_a_metric_that_two_samplers_lack_is_told_once_with_both_reasons(hanging: Hanging) -> None:
    class Lacking(Counting):
        def read(self) -> list[Reading]:
            self.absent = {"other": "no such device"}
            return []

    [other] = [line for line in hardware.sample_lines([Counting(), Lacking()]) if line.subject == "other"]
    assert other.text == "not collected: not supported by this device; no such device"


def test_what_fails_at_first_alone_is_not_told_as_failing(hanging: Hanging) -> None:
    class Waking(Counting):
        def read(self) -> list[Reading]:
            readings = super().read()
            if self.turn == 1:
                raise RuntimeError("asleep")
            return readings

    marks = {line.subject: line.mark for line in hardware.sample_lines([Waking()])}
    assert marks["rate"] == "ok"
    assert "counting" not in marks
    assert marks["other"] == "none"


class Resting(Counting):
    """Has nothing due after its first reading."""

    name = "resting"

    def read(self) -> list[Reading]:
        self.turn, self.absent = 1, {"power": "no driver here"}
        return []

    def due(self) -> bool:
        return not self.turn


@pytest.mark.usefixtures("hanging")
def test_a_sampler_for_which_nothing_is_due_is_not_told_as_hanging() -> None:
    lines = {line.subject: line for line in hardware.sample_lines([Resting()])}
    assert "resting" not in lines
    assert lines["power"].text == "not collected: no driver here"


def test_devices_are_told_with_their_ways_to_each_other(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    [nothing] = hardware.device_lines(kernel.paths)
    assert nothing.mark == "none"
    for bus in ("0000:1a:00.0", "0000:1b:00.0"):
        kernel.proc(f"driver/nvidia/gpus/{bus}/information", "Model: NVIDIA H100\n")
    lines = [(line.subject.strip(), line.text) for line in hardware.device_lines(kernel.paths)]
    assert lines[0] == ("gpu0", "NVIDIA H100 at an unknown place")
    assert lines[-2:] == [("gpu0", "node -1: X ?"), ("gpu1", "node -1: ? X")]


def test_conditions_of_a_run_here_are_shown() -> None:
    subjects = {line.subject for line in hardware.condition_lines()}
    assert {"python", "kernel", "cpus"} <= subjects
