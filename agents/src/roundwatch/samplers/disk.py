"""What the host's disks read and write, and how busy they are: whole disks, not their partitions."""

import time

from roundwatch.samplers.base import Paths, Reading, contents, reason
from roundwatch.samplers.rates import Clock, Rates

SECTOR = 512  # the kernel counts in these, whatever the disk's own are
NAME, SECTORS_READ, SECTORS_WRITTEN, BUSY_MS = 2, 5, 9, 12
METRICS = ("disk_read_bytes_per_second", "disk_written_bytes_per_second", "disk_busy_ratio")
NOT_DISKS = ("loop", "ram", "zram", "sr", "fd", "dm-", "md")  # what lies on other disks would be counted twice


class DiskSampler:
    """Rates of the disks that were ever used. The first reading has none: a rate needs two."""

    name = "disk"

    def __init__(self, paths: Paths, clock: Clock = time.monotonic) -> None:
        self.absent: dict[str, str] = {}
        self._diskstats, self._block = paths.proc / "diskstats", paths.sys / "block"
        self._rates = Rates(clock)

    def read(self) -> list[Reading]:
        try:
            lines = [line.split() for line in contents(self._diskstats).splitlines()]
        except OSError as error:
            self.absent = dict.fromkeys(METRICS, reason(error))
            return []
        readings = []
        for words in lines:
            if len(words) > BUSY_MS and self._is_disk(words[NAME]):
                readings += self._of(words)
        self.absent = {} if readings else dict.fromkeys(METRICS, "needs two readings of a disk in use")
        return readings

    def _is_disk(self, name: str) -> bool:
        return not name.startswith(NOT_DISKS) and (self._block / name).exists()

    def _of(self, words: list[str]) -> list[Reading]:
        disk = words[NAME]
        read, written = int(words[SECTORS_READ]) * SECTOR, int(words[SECTORS_WRITTEN]) * SECTOR
        if not read and not written:
            return []
        counted = zip(METRICS, ("bytes/s", "bytes/s", "ratio"), (read, written, int(words[BUSY_MS]) / 1e3), strict=True)
        readings = []
        for metric, unit, count in counted:
            rate = self._rates.per_second((metric, disk), count)
            if rate is not None:
                readings.append(Reading(metric, unit, min(rate, 1.0) if unit == "ratio" else rate, device=disk))
        return readings
