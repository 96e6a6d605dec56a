"""The limits under which a process runs, and how near it is to them: its cgroup, version 1 or 2.

Memory is read where the tightest limit sits among the cgroup and its ancestors, and so is the CPU: that is
the group that runs out. Where nothing limits, it is the process's own group, and the limit is absent.
"""

import time
from collections.abc import Callable

from roundwatch.samplers.base import Paths, Reading, reason
from roundwatch.samplers.hierarchy import CpuGroup, MemoryGroup, Place, used_s
from roundwatch.samplers.pressure import RESOURCES, Pressure
from roundwatch.samplers.rates import Clock, Rates
from roundwatch.samplers.surroundings import Around, Surroundings

MEMORY = (
    "cgroup_memory_bytes",
    "cgroup_memory_shared_bytes",
    "cgroup_memory_cache_bytes",
    "cgroup_memory_current_bytes",
)
LIMIT, QUOTA, USED = "cgroup_memory_limit_bytes", "cgroup_cpu_quota_cpus", "cgroup_cpu_usage_cpus"
KILLS, REFUSALS = "cgroup_oom_kills_total", "cgroup_memory_limit_hits_total"
THROTTLED = ("cgroup_cpu_throttled_ratio", "cgroup_cpu_throttled_seconds_total")
PERIODS = ("cgroup_cpu_periods_total", "cgroup_cpu_throttled_periods_total")
NO_GROUP = "no cgroup of this controller is visible"
NO_QUOTA = "no quota is set"
UNREADABLE = (OSError, ValueError, KeyError)


class CgroupSampler:
    """Memory, CPU quota, throttling and pressure of the cgroup of `pid`, which may move to another meanwhile."""

    name = "cgroup"

    def __init__(
        self, paths: Paths, pid: int | str = "self", source: str = "host", clock: Clock = time.monotonic
    ) -> None:
        self.absent: dict[str, str] = {}
        self._surroundings, self._source = Surroundings(paths, pid, clock), source
        self._before: tuple[CpuGroup, int, int] | None = None
        self._rates, self._pressure = Rates(clock), Pressure("cgroup", clock, source)

    def read(self) -> list[Reading]:
        self.absent = {}
        around = self._surroundings.now()
        return [*self._memory(around.memory), *self._cpu(around), *self._cpus(around)]

    def _reading(self, metric: str, unit: str, value: float) -> Reading:
        return Reading(metric, unit, value, source=self._source)

    def _memory(self, group: MemoryGroup | None) -> list[Reading]:
        if group is None:
            self.absent |= dict.fromkeys((*MEMORY, LIMIT, KILLS, REFUSALS), NO_GROUP)
            return []
        readings = self._memory_use(group)
        limit = group.limit()
        if limit is None:
            self.absent[LIMIT] = "no limit is set"
        else:
            readings.append(self._reading(LIMIT, "bytes", limit))
        return [*readings, *self._counted(KILLS, group.kills), *self._counted(REFUSALS, group.refusals)]

    def _counted(self, metric: str, ask: Callable[[], int]) -> list[Reading]:
        try:
            return [self._reading(metric, "", ask())]
        except UNREADABLE as error:
            self.absent[metric] = reason(error)
            return []

    def _memory_use(self, group: MemoryGroup) -> list[Reading]:
        try:
            anonymous, shared, cache, current = group.use()
        except UNREADABLE as error:
            self.absent |= dict.fromkeys(MEMORY, reason(error))
            return []
        told = dict(zip(MEMORY, (anonymous + shared, shared, cache, current), strict=True))
        if cache is None:
            self.absent[MEMORY[2]] = "the kernel's file has no line for it"
        return [self._reading(metric, "bytes", value) for metric, value in told.items() if value is not None]

    def _cpu(self, around: Around) -> list[Reading]:
        group = around.cpu
        if group is None:
            self.absent |= dict.fromkeys((QUOTA, USED, *THROTTLED, *PERIODS), NO_GROUP)
            return []
        readings = [*self._used(around.accounting or group.place), *self._stalled(group)]
        quota = group.quota()
        if quota is None:
            self.absent |= dict.fromkeys((QUOTA, *THROTTLED, *PERIODS), NO_QUOTA)
            self._before = None
            return readings
        return [*readings, self._reading(QUOTA, "cpus", quota), *self._throttled(group)]

    def _used(self, place: Place) -> list[Reading]:
        try:
            used = self._rates.per_second(place, used_s(place))
        except UNREADABLE as error:
            self.absent[USED] = reason(error)
            return []
        if used is None:
            self.absent[USED] = "needs two readings"
            return []
        return [self._reading(USED, "cpus", used)]

    def _stalled(self, group: CpuGroup) -> list[Reading]:
        if not group.place.unified:
            return []  # version 1 has none
        files = {resource: group.place.folder / f"{resource}.pressure" for resource in RESOURCES}
        return self._pressure.read(files, self.absent)

    def _throttled(self, group: CpuGroup) -> list[Reading]:
        try:
            periods, throttled, nanoseconds = group.throttled()
        except (OSError, KeyError) as error:
            self.absent |= dict.fromkeys((*THROTTLED, *PERIODS), reason(error))
            return []
        readings = [self._reading(THROTTLED[1], "seconds", nanoseconds / 1e9)]
        readings += [self._reading(PERIODS[0], "", periods), self._reading(PERIODS[1], "", throttled)]
        before, self._before = self._before, (group, periods, throttled)
        if before is None or before[0] != group or periods <= before[1]:
            # Periods only pass while something wants to run.
            self.absent[THROTTLED[0]] = "needs two readings with work between them"
            return readings
        share = (throttled - before[2]) / (periods - before[1])
        return [self._reading(THROTTLED[0], "ratio", share), *readings]

    def _cpus(self, around: Around) -> list[Reading]:
        """The CPUs that the process's affinity allows, and those that its group does."""
        readings = []
        for metric, found in (("visible_cpus", around.visible), ("cgroup_cpuset_cpus", around.cpuset)):
            if isinstance(found, str):
                self.absent[metric] = found
            else:
                readings.append(self._reading(metric, "cpus", found))
        return readings
