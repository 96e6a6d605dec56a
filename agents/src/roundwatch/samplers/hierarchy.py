"""Where a process's cgroups are mounted, and the files of the group whose limit is the tightest."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roundwatch.samplers.base import Paths, contents, fields

# Version 1 says "no limit" with the largest number of whole pages; no machine has an exbibyte.
UNLIMITED = 1 << 60


@dataclass(frozen=True, slots=True)
class Place:
    """A cgroup's folder: `unified` is version 2; `top` is the mount above which nothing is visible."""

    folder: Path
    top: Path
    unified: bool

    def upwards(self) -> Iterator["Place"]:
        """This group, then each visible ancestor."""
        place = self
        yield place
        while place.folder != self.top:
            place = Place(place.folder.parent, self.top, self.unified)
            yield place


def _unescape(word: str) -> str:
    """A path of mountinfo, in which blanks are written as octal numbers."""
    return word.replace("\\040", " ").replace("\\134", "\\")


def _mounts(paths: Paths, controller: str) -> tuple[tuple[str, Path] | None, tuple[str, Path] | None]:
    """(version 1 with this controller, version 2):

    Each the group that is mounted, and where; None if not mounted.
    """
    old = new = None
    for line in contents(paths.proc / "self" / "mountinfo").splitlines():
        words = line.split()
        kind, _, options = words[words.index("-") + 1 :]
        if not kind.startswith("cgroup"):
            continue
        point = paths.sys / _unescape(words[4]).removeprefix("/sys").lstrip("/")
        if kind == "cgroup2":
            new = (_unescape(words[3]), point)
        elif controller in options.split(","):
            old = (_unescape(words[3]), point)
    return old, new


def _groups(paths: Paths, pid: int | str, controller: str) -> tuple[str | None, str | None]:
    """The process's (version 1 with this controller, version 2) group, as the kernel names them."""
    old = new = None
    for line in contents(paths.proc / str(pid) / "cgroup").splitlines():
        number, controllers, group = line.split(":", 2)
        if number == "0" and not controllers:
            new = group
        elif controller in controllers.split(","):
            old = group
    return old, new


def _place(group: str | None, mount: tuple[str, Path] | None, *, unified: bool) -> Place | None:
    """The group's folder; a container that sees only its own group has that at the mount itself.

    None for a group beside or above that of this process's container: what is at the mount is another's.
    """
    if group is None or mount is None or ".." in Path(group).parts:
        return None
    root, top = mount
    within = group.removeprefix(root.rstrip("/")).strip("/") if group.startswith(root) else ""
    folder = top / within
    if not folder.is_dir():
        folder = top
    return Place(folder, top, unified)


def find(paths: Paths, pid: int | str, controller: str) -> Place | None:
    """Where the process's cgroup of this controller is;

    None where there is none to see or the process is gone.
    """
    try:
        (old, new), (old_mount, new_mount) = _groups(paths, pid, controller), _mounts(paths, controller)
    except (OSError, ValueError):
        return None
    return _place(old, old_mount, unified=False) or _place(new, new_mount, unified=True)


def _number(file: Path) -> int | None:
    """A number that a limit file holds;

    None for "max", or where there is no such file (as in the topmost group).
    """
    try:
        text = contents(file).split()[0]
        return int(text) if text != "max" else None
    except (OSError, ValueError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """The memory files of one group."""

    place: Place

    def limit(self) -> int | None:
        """Bytes, or None without a limit."""
        limit = _number(self.place.folder / ("memory.max" if self.place.unified else "memory.limit_in_bytes"))
        return None if limit is None or limit >= UNLIMITED else limit

    def use(self) -> tuple[int, int, int | None]:
        """(anonymous, shared, page cache if it is told) bytes; the cache holds shared memory as well.

        Raises OSError and KeyError.
        """
        stat = fields(contents(self.place.folder / "memory.stat"))
        names = ("anon", "shmem", "file") if self.place.unified else ("total_rss", "total_shmem", "total_cache")
        return stat[names[0]], stat[names[1]], stat.get(names[2])

    def current(self) -> int:
        """All bytes that are charged. Raises OSError and ValueError."""
        name = "memory.current" if self.place.unified else "memory.usage_in_bytes"
        return int(contents(self.place.folder / name))

    def kills(self) -> int:
        """How many processes were killed for want of memory, ever. Raises OSError and KeyError."""
        name = "memory.events" if self.place.unified else "memory.oom_control"
        return fields(contents(self.place.folder / name))["oom_kill"]

    def refusals(self) -> int:
        """How often the limit was hit and nothing could be freed (version 2), or was hit at all (1).

        Raises OSError, ValueError and KeyError.
        """
        if self.place.unified:
            return fields(contents(self.place.folder / "memory.events"))["oom"]
        return int(contents(self.place.folder / "memory.failcnt"))


@dataclass(frozen=True, slots=True)
class CpuGroup:
    """The CPU bandwidth files of one group."""

    place: Place

    def quota(self) -> float | None:
        """CPUs' worth of time the group may use, or None without a quota."""
        folder = self.place.folder
        if not self.place.unified:
            quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
            return quota / period if quota and period and quota > 0 else None
        try:
            quota_text, period_text = contents(folder / "cpu.max").split()
        except (OSError, ValueError):
            return None
        return None if quota_text == "max" else int(quota_text) / int(period_text)

    def throttled(self) -> tuple[int, int, int]:
        """(periods, throttled periods, nanoseconds throttled), ever. Raises OSError and KeyError."""
        stat = fields(contents(self.place.folder / "cpu.stat"))
        time_ns = stat["throttled_usec"] * 1000 if self.place.unified else stat["throttled_time"]
        return stat["nr_periods"], stat["nr_throttled"], time_ns


def used_s(place: Place) -> float:
    """CPU seconds of all tasks of a group, ever; version 1 counts them in the controller cpuacct.

    Raises OSError, ValueError and KeyError.
    """
    if place.unified:
        return fields(contents(place.folder / "cpu.stat"))["usage_usec"] / 1e6
    return int(contents(place.folder / "cpuacct.usage")) / 1e9


def cpuset(paths: Paths, pid: int | str) -> str | None:
    """The CPUs that the process's group may use, as a list such as "0-3,8"; None where no group says."""
    place = find(paths, pid, "cpuset")
    if place is None:
        return None
    for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
        try:
            text = contents(place.folder / name).strip()
        except OSError:
            continue
        if text:
            return text
    return None


def memory_group(paths: Paths, pid: int | str) -> MemoryGroup | None:
    """The group with the lowest memory limit above the process, else its own."""
    place = find(paths, pid, "memory")
    if place is None:
        return None
    groups = [MemoryGroup(each) for each in place.upwards()]
    return min(groups, key=lambda group: group.limit() or UNLIMITED)


def cpu_group(paths: Paths, pid: int | str) -> CpuGroup | None:
    """The group with the lowest CPU quota above the process, else its own."""
    place = find(paths, pid, "cpu")
    if place is None:
        return None
    groups = [CpuGroup(each) for each in place.upwards()]
    return min(groups, key=lambda group: group.quota() or float("inf"))
