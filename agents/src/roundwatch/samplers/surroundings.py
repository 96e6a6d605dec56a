"""Which groups hold a process and which CPUs it may use: looked up when it has moved, and once in a while."""

from dataclasses import dataclass

from roundwatch.samplers import hierarchy
from roundwatch.samplers.base import Paths, contents, reason
from roundwatch.samplers.cpulist import cpus
from roundwatch.samplers.hierarchy import CpuGroup, MemoryGroup, Place
from roundwatch.samplers.rates import Clock

LOOK_AGAIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Around:
    """The groups with the tightest limits, the one that counts CPU time, and numbers of CPUs or why there are none."""

    memory: MemoryGroup | None
    cpu: CpuGroup | None
    accounting: Place | None
    visible: int | str
    cpuset: int | str


class Surroundings:
    """Of one process. To find the groups takes ten times as long as to read them."""

    def __init__(self, paths: Paths, pid: int | str, clock: Clock) -> None:
        self._paths, self._pid, self._clock = paths, pid, clock
        self._said = ""
        self._around: Around | None = None
        self._look_at = float("-inf")

    def now(self) -> Around:
        """As of ten seconds ago at most, unless the process has moved."""
        said, now = self._membership(), self._clock()
        if self._around is None or said != self._said or now >= self._look_at:
            self._said, self._look_at = said, now + LOOK_AGAIN_S
            self._around = self._found()
        return self._around

    def _membership(self) -> str:
        try:
            return contents(self._paths.proc / str(self._pid) / "cgroup")
        except OSError:
            return ""

    def _found(self) -> Around:
        where = (self._paths, self._pid)
        cpu = hierarchy.cpu_group(*where)
        return Around(
            memory=hierarchy.memory_group(*where),
            cpu=cpu,
            accounting=hierarchy.find(*where, "cpuacct") or (cpu.place if cpu else None),
            visible=self._visible(),
            cpuset=self._cpuset(),
        )

    def _visible(self) -> int | str:
        try:
            text = contents(self._paths.proc / str(self._pid) / "status")
            ranges = next(line for line in text.splitlines() if line.startswith("Cpus_allowed_list:"))
            return len(cpus(ranges.partition(":")[2])) or "the kernel lists no allowed CPUs"
        except OSError as error:
            return reason(error)
        except (StopIteration, ValueError):
            return "the kernel does not list allowed CPUs"

    def _cpuset(self) -> int | str:
        ranges = hierarchy.cpuset(self._paths, self._pid)
        try:
            return "no cgroup of this controller is visible" if ranges is None else len(cpus(ranges))
        except ValueError as error:
            return reason(error)
