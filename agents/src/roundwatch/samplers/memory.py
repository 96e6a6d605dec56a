"""Anonymous plus shared memory of processes and of the host: what leaks; page cache is not part of it."""

from pathlib import Path

from roundwatch.samplers.base import Paths, Reading, contents, fields, reason

PROCESS_METRICS = ("process_memory_bytes", "process_memory_shared_bytes")
HOST_METRICS = {
    "host_memory_bytes": ("AnonPages", "Shmem"),
    "host_memory_shared_bytes": ("Shmem",),
    "host_memory_total_bytes": ("MemTotal",),
    "host_memory_available_bytes": ("MemAvailable",),
}


def process_memory() -> list[Reading]:
    """This process's memory now;

    One small file is read. Nothing where the kernel does not tell. Never raises.
    """
    return of_process("self")


def of_process(pid: int | str, paths: Paths | None = None) -> list[Reading]:
    """A process's memory now; nothing where it is gone or not ours to read. Never raises."""
    try:
        text = contents(Path(paths.proc if paths else "/proc", str(pid), "status"))
    except OSError:
        return []
    anonymous, shared = (_line(text, name) for name in ("RssAnon", "RssShmem"))
    if anonymous is None or shared is None:
        return []
    return [
        Reading(PROCESS_METRICS[0], "bytes", anonymous + shared, source="process"),
        Reading(PROCESS_METRICS[1], "bytes", shared, source="process"),
    ]


def _line(text: str, name: str) -> int | None:
    """The bytes of one line "name: value kB"; as `fields`, without the sixty lines that nobody asked for."""
    _, found, rest = text.partition(f"\n{name}:")
    value, unit, _ = rest.partition(" kB")
    return int(value) * 1024 if found and unit and value.strip().isdigit() else None


class ProcessMemorySampler:
    """Memory of another process, from outside; the process itself does nothing."""

    name = "process memory"

    def __init__(self, pid: int, paths: Paths) -> None:
        self.absent: dict[str, str] = {}
        self._pid, self._paths = pid, paths

    def read(self) -> list[Reading]:
        readings = of_process(self._pid, self._paths)
        why = f"process {self._pid} is gone, or is another user's"
        self.absent = {} if readings else dict.fromkeys(PROCESS_METRICS, why)
        return readings


class HostMemorySampler:
    """Memory of the whole host."""

    name = "host memory"

    def __init__(self, paths: Paths) -> None:
        self.absent: dict[str, str] = {}
        self._meminfo = paths.proc / "meminfo"

    def read(self) -> list[Reading]:
        self.absent = {}
        try:
            known = fields(contents(self._meminfo))
        except OSError as error:
            self.absent = dict.fromkeys(HOST_METRICS, reason(error))
            return []
        readings = []
        for metric, parts in HOST_METRICS.items():
            missing = [part for part in parts if part not in known]
            if missing:
                self.absent[metric] = f"{self._meminfo} has no {missing[0]}"
            else:
                readings.append(Reading(metric, "bytes", sum(known[part] for part in parts)))
        return readings
