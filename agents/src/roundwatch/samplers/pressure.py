"""Pressure stall information: the share of the time in which tasks waited for CPU, memory or disks.

That of memory and disks is read every four seconds: it is nothing most of the time, or lasts.
"""

import time
from pathlib import Path

from roundwatch.samplers.base import Paths, Reading, contents, reason
from roundwatch.samplers.rates import Clock, Due, Rates

MICROSECONDS = 1e6
# "some": at least one task waited; "full": all of them did, so that nothing was done at all.
WORDS = {"some": "waiting", "full": "stalled"}
RESOURCES = ("cpu", "memory", "io")


class Pressure:
    """The stall times of one host or group as shares of the time between readings."""

    def __init__(self, prefix: str, clock: Clock = time.monotonic, source: str = "host") -> None:
        self._prefix, self._source = prefix, source
        self._rates, self._due = Rates(clock), Due(clock=clock, twice=True)

    def read(self, files: dict[str, Path], absent: dict[str, str]) -> list[Reading]:
        """The shares by `files`, one for each resource; why there is none goes into `absent`."""
        readings, due = [], self._due()
        for resource, file in files.items():
            if resource != "cpu" and not due:
                continue
            try:
                totals = stalls(contents(file))
            except (OSError, ValueError) as error:
                absent[self._metric(resource, "some")] = reason(error)
                continue
            readings += self._shares(resource, file, totals, absent)
        return readings

    def _metric(self, resource: str, line: str) -> str:
        return f"{self._prefix}_pressure_{resource}_{WORDS[line]}_ratio"

    def _shares(self, resource: str, file: Path, totals: dict[str, int], absent: dict[str, str]) -> list[Reading]:
        readings = []
        for line, total in totals.items():
            if line == "full" and resource == "cpu":
                continue  # not defined for a host: the kernel writes zeros for form's sake
            share = self._rates.per_second((file, line), total / MICROSECONDS)
            if share is None:
                absent[self._metric(resource, line)] = "needs two readings"
            else:
                readings.append(Reading(self._metric(resource, line), "ratio", min(share, 1.0), source=self._source))
        return readings


def stalls(text: str) -> dict[str, int]:
    """Microseconds of stall ever, by "some" and "full", from the text of a pressure file. Raises ValueError."""
    totals = {}
    for line in text.splitlines():
        word, *figures = line.split()
        total = next((figure for figure in figures if figure.startswith("total=")), None)
        if word in WORDS and total is not None:
            totals[word] = int(total.partition("=")[2])
    return totals


class PressureSampler:
    """Pressure on the whole host."""

    name = "pressure"

    def __init__(self, paths: Paths, clock: Clock = time.monotonic) -> None:
        self.absent: dict[str, str] = {}
        self._files = {resource: paths.proc / "pressure" / resource for resource in RESOURCES}
        self._pressure = Pressure("host", clock)

    def read(self) -> list[Reading]:
        self.absent = {}
        return self._pressure.read(self._files, self.absent)
