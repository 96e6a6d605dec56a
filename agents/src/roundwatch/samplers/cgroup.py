"""The limits under which a process runs, and how near it is to them: its cgroup, version 1 or 2.

Memory is read where the tightest limit sits among the cgroup and its ancestors, and so is the CPU: that is
the group that runs out. Where nothing limits, it is the process's own group, and the limit is absent.
"""

import time

from roundwatch.samplers.base import Paths, Reading
from roundwatch.samplers.groups import LIMIT, NO_QUOTA, QUOTA, Group, Groups
from roundwatch.samplers.rates import Clock
from roundwatch.samplers.surroundings import Around, Surroundings

__all__ = ["LIMIT", "NO_QUOTA", "QUOTA", "CgroupSampler"]


class CgroupSampler:
    """Memory, CPU quota, throttling and pressure of the cgroup of `pid`, which may move to another meanwhile.

    With `groups` it is read once for all processes that are in it.
    """

    name = "cgroup"

    def __init__(
        self,
        paths: Paths,
        pid: int | str = "self",
        source: str = "host",
        clock: Clock = time.monotonic,
        groups: Groups | None = None,
    ) -> None:
        self.absent: dict[str, str] = {}
        self._surroundings, self._source = Surroundings(paths, pid, clock), source
        self._shared, self._groups = groups is not None, groups or Groups(source, clock)
        self._group: Group | None = None  # the one that is in use must be held

    def read(self) -> list[Reading]:
        around = self._surroundings.now()
        group = self._group = self._groups.of(around)
        readings = group.told() if self._shared else group.read()
        self.absent = dict(group.absent)
        return [*readings, *self._cpus(around)]

    def _cpus(self, around: Around) -> list[Reading]:
        """The CPUs that the process's affinity allows, and those that its group does."""
        readings = []
        for metric, found in (("visible_cpus", around.visible), ("cgroup_cpuset_cpus", around.cpuset)):
            if isinstance(found, str):
                self.absent[metric] = found
            else:
                readings.append(Reading(metric, "cpus", found, source=self._source))
        return readings
