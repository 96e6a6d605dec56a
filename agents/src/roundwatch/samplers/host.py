"""The whole host's CPU: how busy it is and how many tasks want it."""

from roundwatch.samplers.base import Paths, Reading, reason

# Positions in the "cpu" line of /proc/stat; guest time is already counted in user time.
IDLE, IOWAIT, COUNTED = 3, 4, 8


def cpu_times(text: str) -> tuple[int, int]:
    """(busy, total) ticks of all CPUs since boot, from the text of `/proc/stat`."""
    ticks = [int(word) for word in text.split("\n", 1)[0].split()[1:][:COUNTED]]
    return sum(ticks) - ticks[IDLE] - ticks[IOWAIT], sum(ticks)


class HostSampler:
    """CPU utilisation and load of the host. The first reading has no utilisation: it needs two."""

    name = "host"

    def __init__(self, paths: Paths) -> None:
        self.absent: dict[str, str] = {}
        self._stat, self._loadavg = paths.proc / "stat", paths.proc / "loadavg"
        self._before: tuple[int, int] | None = None

    def read(self) -> list[Reading]:
        self.absent = {}
        return [*self._utilisation(), *self._load()]

    def _utilisation(self) -> list[Reading]:
        metric = "host_cpu_utilisation_ratio"
        try:
            busy, total = cpu_times(self._stat.read_text())
        except (OSError, ValueError, IndexError) as error:
            self.absent[metric] = reason(error)
            return []
        before, self._before = self._before, (busy, total)
        # A counter of a paused or migrated machine can step back; then there is nothing to tell this once.
        if before is None or total <= before[1] or busy < before[0]:
            self.absent[metric] = "needs two readings"
            return []
        return [Reading(metric, "ratio", (busy - before[0]) / (total - before[1]))]

    def _load(self) -> list[Reading]:
        try:
            return [Reading("host_load1", "", float(self._loadavg.read_text().split()[0]))]
        except (OSError, ValueError, IndexError) as error:
            self.absent["host_load1"] = reason(error)
            return []
