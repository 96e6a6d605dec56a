"""A tree of files that looks like /proc and /sys to the samplers."""

from pathlib import Path

from roundwatch.samplers.base import Paths

MIB = 1 << 20
STATUS = "Name:\tpython\nRssAnon:\t{anon} kB\nRssFile:\t999999 kB\nRssShmem:\t{shmem} kB\nCpus_allowed_list:\t{cpus}\n"


class Kernel:
    """Writes such files below a folder; `paths` is what the samplers are given."""

    def __init__(self, root: Path) -> None:
        self.paths = Paths(proc=root / "proc", sys=root / "sys")

    def proc(self, name: str, text: str) -> None:
        self._write(self.paths.proc / name, text)

    def sys(self, name: str, text: str) -> None:
        self._write(self.paths.sys / name, text)

    def process(self, pid: int | str, *, anon_mib: int = 0, shmem_mib: int = 0, cpus: str = "0-31") -> None:
        """What `/proc/<pid>/status` says."""
        self.proc(f"{pid}/status", STATUS.format(anon=anon_mib * 1024, shmem=shmem_mib * 1024, cpus=cpus))

    def mounts(self, *lines: str) -> None:
        """The lines of `/proc/self/mountinfo`, each "root point kind options" for one cgroup mount."""
        text = "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        for number, line in enumerate(lines):
            root, point, kind, options = line.split()
            text += f"{30 + number} 25 0:{number} {root} {point} rw,nosuid shared:9 - {kind} {kind} rw,{options}\n"
        self.proc("self/mountinfo", text)

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def values(readings) -> dict[str, float]:
    """Readings by metric, with the device behind a blank where there is one."""
    return {f"{r.metric} {r.device}" if r.device else r.metric: r.value for r in readings}
