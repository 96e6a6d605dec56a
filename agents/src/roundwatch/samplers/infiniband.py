"""Bytes per second through InfiniBand and RoCE ports, which the network interfaces do not count, and their speed."""

import time
from pathlib import Path

from roundwatch.samplers.base import Paths, Reading, contents
from roundwatch.samplers.network import RECEIVE, SPEED, TRANSMIT
from roundwatch.samplers.rates import Clock, Due, Rates

WORDS = 4  # the counters count four bytes
COUNTERS = ((RECEIVE, "port_rcv_data"), (TRANSMIT, "port_xmit_data"))
DOWN = "infiniband_link_down"


class InfinibandSampler:
    """Every port of every adapter, named "mlx5_0/1"; which there are, and their state, is read every four seconds."""

    name = "infiniband"

    def __init__(self, paths: Paths, clock: Clock = time.monotonic) -> None:
        self.absent: dict[str, str] = {}
        self._folder = paths.sys / "class" / "infiniband"
        self._rates, self._due = Rates(clock), Due(clock=clock, twice=True)
        self._ports: list[Path] = []

    def read(self) -> list[Reading]:
        if not self._due():
            return [reading for port in self._ports for reading in self._traffic(port)]
        self._ports = sorted(self._folder.glob("*/ports/*"))
        self.absent = {} if self._ports else {DOWN: f"no adapter is to be seen in {self._folder}"}
        return [reading for port in self._ports for reading in (*self._state(port), *self._traffic(port))]

    def _state(self, port: Path) -> list[Reading]:
        device, readings = _name(port), []
        state = _text(port / "state")
        if state:
            readings.append(Reading(DOWN, "", float("ACTIVE" not in state), device))
        gigabits = _text(port / "rate").partition(" ")[0]
        if gigabits.replace(".", "", 1).isdigit() and "ACTIVE" in state:
            readings.append(Reading(SPEED, "bytes/s", float(gigabits) * 1e9 / 8, device))
        return readings

    def _traffic(self, port: Path) -> list[Reading]:
        device, readings = _name(port), []
        for metric, name in COUNTERS:
            count = _text(port / "counters" / name)
            rate = self._rates.per_second((metric, device), int(count) * WORDS) if count.isdigit() else None
            if rate is not None:
                readings.append(Reading(metric, "bytes/s", rate, device))
        return readings


def _name(port: Path) -> str:
    return f"{port.parents[1].name}/{port.name}"


def _text(file: Path) -> str:
    try:
        return contents(file).strip()
    except OSError:
        return ""
