"""What one cgroup tells: memory, CPU time, throttling and pressure; of many processes in it, it is read once."""

import time
import weakref
from collections.abc import Callable

from roundwatch.samplers.base import Reading, reason
from roundwatch.samplers.hierarchy import CpuGroup, MemoryGroup, Place, used_s
from roundwatch.samplers.pressure import RESOURCES, Pressure
from roundwatch.samplers.rates import Clock, Due, Rates
from roundwatch.samplers.surroundings import Around

MEMORY = ("cgroup_memory_bytes", "cgroup_memory_shared_bytes", "cgroup_memory_cache_bytes")
CURRENT, LIMIT = "cgroup_memory_current_bytes", "cgroup_memory_limit_bytes"
QUOTA, USED = "cgroup_cpu_quota_cpus", "cgroup_cpu_usage_cpus"
KILLS, REFUSALS = "cgroup_oom_kills_total", "cgroup_memory_limit_hits_total"
THROTTLED = ("cgroup_cpu_throttled_ratio", "cgroup_cpu_throttled_seconds_total")
PERIODS = ("cgroup_cpu_periods_total", "cgroup_cpu_throttled_periods_total")
NO_GROUP, NO_QUOTA = "no cgroup of this controller is visible", "no quota is set"
UNREADABLE = (OSError, ValueError, KeyError)
SAME_S = 0.25


class Group:
    """The groups around a process, those with the tightest limits, as one. `read` may be called for each process."""

    def __init__(self, around: Around, source: str, clock: Clock) -> None:
        self.absent: dict[str, str] = {}
        self._memory_group, self._cpu_group, self._accounting = around.memory, around.cpu, around.accounting
        self._source, self._clock = source, clock
        self._before: tuple[int, int] | None = None
        self._rates, self._pressure = Rates(clock), Pressure("cgroup", clock, source)
        self._due, self._whole = Due(clock=clock, twice=True), True
        self._told: tuple[float, list[Reading]] = (float("-inf"), [])

    def read(self) -> list[Reading]:
        """What it tells now; what changes slowly or seldom is read every four seconds."""
        self.absent, self._whole = {}, self._due()
        return [*self._memory(self._memory_group), *self._cpu(self._cpu_group)]

    def told(self) -> list[Reading]:
        """The same, as of a moment ago at most: what several processes are told at one reading."""
        now = self._clock()
        if now - self._told[0] > SAME_S:
            self._told = now, self.read()
        return self._told[1]

    def _reading(self, metric: str, unit: str, value: float) -> Reading:
        return Reading(metric, unit, value, source=self._source)

    def _memory(self, group: MemoryGroup | None) -> list[Reading]:
        if group is None:
            self.absent |= dict.fromkeys((*MEMORY, CURRENT, LIMIT, KILLS, REFUSALS), NO_GROUP)
            return []
        readings = self._memory_use(group)
        if not self._whole:
            return readings
        limit = group.limit()
        if limit is None:
            self.absent[LIMIT] = "no limit is set"
        else:
            readings.append(self._reading(LIMIT, "bytes", limit))
        asked = ((CURRENT, "bytes", group.current), (KILLS, "", group.kills), (REFUSALS, "", group.refusals))
        return [*readings, *(reading for each in asked for reading in self._counted(*each))]

    def _counted(self, metric: str, unit: str, ask: Callable[[], int]) -> list[Reading]:
        try:
            return [self._reading(metric, unit, ask())]
        except UNREADABLE as error:
            self.absent[metric] = reason(error)
            return []

    def _memory_use(self, group: MemoryGroup) -> list[Reading]:
        try:
            anonymous, shared, cache = group.use()
        except UNREADABLE as error:
            self.absent |= dict.fromkeys(MEMORY, reason(error))
            return []
        told = dict(zip(MEMORY, (anonymous + shared, shared, cache), strict=True))
        if cache is None:
            self.absent[MEMORY[2]] = "the kernel's file has no line for it"
        return [self._reading(metric, "bytes", value) for metric, value in told.items() if value is not None]

    def _cpu(self, group: CpuGroup | None) -> list[Reading]:
        if group is None:
            self.absent |= dict.fromkeys((QUOTA, USED, *THROTTLED, *PERIODS), NO_GROUP)
            return []
        readings = [*self._used(self._accounting or group.place), *self._stalled(group)]
        quota = group.quota()
        if quota is None:
            self.absent |= dict.fromkeys((QUOTA, *THROTTLED, *PERIODS), NO_QUOTA)
            return [*readings, *self._lifted(group)]
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
        if self._whole:
            readings += [self._reading(PERIODS[0], "", periods), self._reading(PERIODS[1], "", throttled)]
        share = self._share(periods, throttled)
        if not share:
            # Periods only pass while something wants to run.
            self.absent[THROTTLED[0]] = "needs two readings with work between them"
        return [*share, *readings]

    def _lifted(self, group: CpuGroup) -> list[Reading]:
        """What a quota that is set only now and then did since the reading before; without any, no period passes."""
        try:
            periods, throttled, _ = group.throttled()
        except UNREADABLE:
            return []
        return self._share(periods, throttled)

    def _share(self, periods: int, throttled: int) -> list[Reading]:
        """The share of periods since the reading before in which it was throttled, if any has passed."""
        before, self._before = self._before, (periods, throttled)
        if before is None or periods <= before[0]:
            return []
        self.absent.pop(THROTTLED[0], None)
        return [self._reading(THROTTLED[0], "ratio", (throttled - before[1]) / (periods - before[0]))]


class Groups:
    """The groups that processes are in, each known for as long as one of them is."""

    def __init__(self, source: str, clock: Clock = time.monotonic) -> None:
        self._source, self._clock = source, clock
        self._known: weakref.WeakValueDictionary[object, Group] = weakref.WeakValueDictionary()

    def of(self, around: Around) -> Group:
        """The one that is known, or a new one."""
        key = around.memory, around.cpu, around.accounting
        group = self._known.get(key)
        if group is None:
            group = self._known[key] = Group(around, self._source, self._clock)
        return group


GROUPS = Groups("process")
