"""What a training process does, from outside: CPU time, threads, page faults, and the most memory it ever held."""

import os
import time

from roundwatch.samplers.base import Paths, Reading, contents, fields, reason
from roundwatch.samplers.rates import Clock, Due, Rates

# Positions in /proc/<pid>/stat behind the name, which may hold blanks and brackets.
MINOR, MAJOR, USER, SYSTEM, THREADS = 7, 9, 11, 12, 17
PEAK_EVERY_S = 10.0
CPU, PEAK, RUNNING = "process_cpu_usage_cpus", "process_memory_peak_bytes", "process_threads"
FAULTS = ("process_page_faults_per_second", "process_major_page_faults_per_second")


class ProcessSampler:
    """Of one process with all its threads, not of its children."""

    name = "process"

    def __init__(self, pid: int, paths: Paths, clock: Clock = time.monotonic) -> None:
        self.absent: dict[str, str] = {}
        self._folder = paths.proc / str(pid)
        self._rates = Rates(clock)
        self._faults_due, self._peak_due = Due(clock=clock, twice=True), Due(PEAK_EVERY_S, clock)
        self._tick = os.sysconf("SC_CLK_TCK")

    def read(self) -> list[Reading]:
        self.absent = {}
        try:
            words = contents(self._folder / "stat").rpartition(")")[2].split()
            threads, minor, major = int(words[THREADS]), int(words[MINOR]), int(words[MAJOR])
            seconds = (int(words[USER]) + int(words[SYSTEM])) / self._tick
        except (OSError, ValueError, IndexError) as error:
            self.absent = dict.fromkeys((RUNNING, CPU, *FAULTS, PEAK), reason(error))
            return []
        readings = [Reading(RUNNING, "", float(threads), source="process")]
        counters = [(CPU, "cpus", seconds)]
        if self._faults_due():
            counters += [(FAULTS[0], "", minor), (FAULTS[1], "", major)]
        for metric, unit, count in counters:
            rate = self._rates.per_second(metric, count)
            if rate is None:
                self.absent[metric] = "needs two readings"
            else:
                readings.append(Reading(metric, unit, rate, source="process"))
        return readings + self._peak() if self._peak_due() else readings

    def _peak(self) -> list[Reading]:
        """The high-water mark of all that is resident, files too: the kernel keeps no other. Read every ten seconds."""
        try:
            peak = fields(contents(self._folder / "status"))["VmHWM"]
        except (OSError, KeyError) as error:
            self.absent[PEAK] = reason(error)
            return []
        return [Reading(PEAK, "bytes", float(peak), source="process")]


class ProportionalSampler:
    """The process's memory with what it shares divided among those who share it (PSS): the kernel walks all of it."""

    name = "process proportional memory"

    def __init__(self, pid: int, paths: Paths) -> None:
        self.absent: dict[str, str] = {}
        self._file = paths.proc / str(pid) / "smaps_rollup"

    def read(self) -> list[Reading]:
        metric = "process_memory_proportional_bytes"
        try:
            size = fields(self._file.read_text(errors="replace"))["Pss"]
        except (OSError, KeyError) as error:
            self.absent = {metric: reason(error)}
            return []
        self.absent = {}
        return [Reading(metric, "bytes", float(size), source="process")]
