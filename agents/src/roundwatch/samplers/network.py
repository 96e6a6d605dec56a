"""Bytes per second through each network interface, and how many its link could carry.

Loopback is left out, and so are bridges and virtual pairs where the host has hardware interfaces (in a
container the virtual one is all there is), and interfaces that never carried a byte.
"""

import time
from collections.abc import Callable

from roundwatch.samplers.base import Paths, Reading, contents, reason
from roundwatch.samplers.rates import Due

RECEIVE, TRANSMIT = "network_receive_bytes_per_second", "network_transmit_bytes_per_second"
SPEED = "network_speed_bytes_per_second"
MEGABIT = 1e6 / 8
SPEED_S = 10.0
RECEIVED, SENT = 0, 8  # positions of the byte counters in a line of /proc/net/dev
Counters = dict[str, tuple[int, int]]


def counters(text: str) -> Counters:
    """Bytes (received, sent) since boot by interface, from the text of `/proc/net/dev`."""
    found = {}
    for line in text.splitlines():
        name, colon, numbers = line.partition(":")
        words = numbers.split()
        if colon and len(words) > SENT and words[RECEIVED].isdigit():
            found[name.strip()] = (int(words[RECEIVED]), int(words[SENT]))
    return found


class NetworkSampler:
    """Rates of the interfaces that matter. The first reading has none: a rate needs two."""

    name = "network"

    def __init__(self, paths: Paths, clock: Callable[[], float] = time.monotonic) -> None:
        self.absent: dict[str, str] = {}
        self._dev = paths.proc / "self" / "net" / "dev"
        self._interfaces = paths.sys / "class" / "net"
        self._clock, self._speed_due = clock, Due(SPEED_S, clock, twice=True)
        self._before: tuple[float, Counters] = (0.0, {})

    def read(self) -> list[Reading]:
        try:
            now, counted = self._clock(), counters(contents(self._dev))
        except OSError as error:
            self.absent = dict.fromkeys((RECEIVE, TRANSMIT), reason(error))
            return []
        (before, old), self._before = self._before, (now, counted)
        readings, chosen = [], self._chosen(counted)
        for name in chosen:
            if name in old and now > before:
                readings += self._rates(name, counted[name], old[name], now - before)
        why = "needs two readings of an interface in use"
        self.absent = {} if readings else dict.fromkeys((RECEIVE, TRANSMIT), why)
        if self._speed_due():  # it takes the kernel a lock that others wait for
            readings += [speed for name in chosen for speed in self._speed(name)]
        return readings

    def _speed(self, name: str) -> list[Reading]:
        """The link's speed; virtual interfaces have none, and one without a link says -1."""
        try:
            megabits = int((self._interfaces / name / "speed").read_text())
        except (OSError, ValueError):
            megabits = 0
        if megabits <= 0:
            self.absent[f"{SPEED} {name}"] = "the interface is virtual, or has no link"
            return []
        return [Reading(SPEED, "bytes/s", megabits * MEGABIT, device=name)]

    def _chosen(self, counted: Counters) -> list[str]:
        used = [name for name, both in counted.items() if name != "lo" and any(both)]
        hardware = [name for name in used if (self._interfaces / name / "device").exists()]
        return hardware or used

    @staticmethod
    def _rates(name: str, now: tuple[int, int], old: tuple[int, int], seconds: float) -> list[Reading]:
        # A counter that went back was reset, and says nothing of the time between.
        return [
            Reading(metric, "bytes/s", (after - before) / seconds, device=name)
            for metric, after, before in zip((RECEIVE, TRANSMIT), now, old, strict=True)
            if after >= before
        ]
