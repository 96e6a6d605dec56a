"""The limits under which a process runs, and how near it is to them: its cgroup, version 1 or 2.

Memory is read where the tightest limit sits among the cgroup and its ancestors, and so is the CPU: that is
the group that runs out. Where nothing limits, it is the process's own group, and the limit is absent.
"""

from roundwatch.samplers.base import Paths, Reading, reason
from roundwatch.samplers.hierarchy import CpuGroup, MemoryGroup, cpu_group, memory_group

MEMORY = ("cgroup_memory_bytes", "cgroup_memory_shared_bytes", "cgroup_memory_current_bytes")
LIMIT, QUOTA = "cgroup_memory_limit_bytes", "cgroup_cpu_quota_cpus"
THROTTLED = ("cgroup_cpu_throttled_ratio", "cgroup_cpu_throttled_seconds_total")
NO_GROUP = "no cgroup of this controller is visible"


def count_cpus(ranges: str) -> int:
    """How many CPUs a list such as "0-3,8" names. Raises ValueError."""
    total = 0
    for part in ranges.strip().split(","):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1
    return total


class CgroupSampler:
    """Memory, CPU quota and throttling of the cgroup of `pid`, which may move to another meanwhile."""

    name = "cgroup"

    def __init__(self, paths: Paths, pid: int | str = "self", source: str = "host") -> None:
        self.absent: dict[str, str] = {}
        self._paths, self._pid, self._source = paths, pid, source
        self._before: tuple[CpuGroup, int, int] | None = None

    def read(self) -> list[Reading]:
        self.absent = {}
        return [*self._memory(), *self._cpu(), *self._visible()]

    def _reading(self, metric: str, unit: str, value: float) -> Reading:
        return Reading(metric, unit, value, source=self._source)

    def _memory(self) -> list[Reading]:
        group = memory_group(self._paths, self._pid)
        if group is None:
            self.absent |= dict.fromkeys((*MEMORY, LIMIT), NO_GROUP)
            return []
        readings = self._memory_use(group)
        limit = group.limit()
        if limit is None:
            self.absent[LIMIT] = "no limit is set"
        else:
            readings.append(self._reading(LIMIT, "bytes", limit))
        return readings

    def _memory_use(self, group: MemoryGroup) -> list[Reading]:
        try:
            anonymous, shared, current = group.use()
        except (OSError, ValueError, KeyError) as error:
            self.absent |= dict.fromkeys(MEMORY, reason(error))
            return []
        values = (anonymous + shared, shared, current)
        return [self._reading(metric, "bytes", value) for metric, value in zip(MEMORY, values, strict=True)]

    def _cpu(self) -> list[Reading]:
        group = cpu_group(self._paths, self._pid)
        if group is None:
            self.absent |= dict.fromkeys((QUOTA, *THROTTLED), NO_GROUP)
            return []
        quota = group.quota()
        if quota is None:
            self.absent |= dict.fromkeys((QUOTA, *THROTTLED), "no quota is set")
            self._before = None
            return []
        return [self._reading(QUOTA, "cpus", quota), *self._throttled(group)]

    def _throttled(self, group: CpuGroup) -> list[Reading]:
        try:
            periods, throttled, nanoseconds = group.throttled()
        except (OSError, KeyError) as error:
            self.absent |= dict.fromkeys(THROTTLED, reason(error))
            return []
        readings = [self._reading(THROTTLED[1], "seconds", nanoseconds / 1e9)]
        before, self._before = self._before, (group, periods, throttled)
        if before is None or before[0] != group or periods <= before[1]:
            # Periods only pass while something wants to run.
            self.absent[THROTTLED[0]] = "needs two readings with work between them"
            return readings
        share = (throttled - before[2]) / (periods - before[1])
        return [self._reading(THROTTLED[0], "ratio", share), *readings]

    def _visible(self) -> list[Reading]:
        try:
            text = (self._paths.proc / str(self._pid) / "status").read_text(errors="replace")
            ranges = next(line for line in text.splitlines() if line.startswith("Cpus_allowed_list:"))
            return [self._reading("visible_cpus", "cpus", count_cpus(ranges.partition(":")[2]))]
        except OSError as error:
            self.absent["visible_cpus"] = reason(error)
        except (StopIteration, ValueError):
            self.absent["visible_cpus"] = "the kernel does not list allowed CPUs"
        return []
