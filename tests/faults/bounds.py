"""Bounded memory and disk: what the product's processes hold, and what lies in the spools."""

from pathlib import Path

from tests.e2e.product import command_of
from tests.faults.stage import NEEDLES, Stage

MIB = 1 << 20
# A process of each part, far above what it holds on a good day and far below what a leak makes of it.
MOST_BYTES = {"web": 400 * MIB, "worker": 300 * MIB, "watcher": 250 * MIB, "agent": 60 * MIB, "valkey": 600 * MIB}
MOST_SHIPPER_BYTES = 60 * MIB
MOST_FILES = 300
MOST_SPOOL_BYTES = 1 << 30


class Bounds:
    """Looks after each fault; remembers the most that it saw."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._most: dict[str, int] = {}

    def check(self) -> None:
        """Raises AssertionError for what grew beyond its bound."""
        for pid in self._stage.product.processes():
            command = command_of(pid)
            part = next((part for part in MOST_BYTES if NEEDLES[part] in command), None)
            if part:
                self._note(part, _resident(pid), MOST_BYTES[part])
                self._note(f"{part}'s files", _files(pid), MOST_FILES)
        for one in self._stage.running():
            for pid in [] if one.near else one.training.shippers():
                self._note("shipper", _resident(pid), MOST_SHIPPER_BYTES)
            self._note("spool", _size(one.training.spool), MOST_SPOOL_BYTES)

    def _note(self, what: str, value: int, most: int) -> None:
        self._most[what] = max(value, self._most.get(what, 0))
        assert value <= most, f"{what}: {value} is more than {most}"

    def told(self) -> str:
        """The most that was seen."""
        return "at most " + ", ".join(
            f"{what} {value / MIB:.0f} MiB" if value > 10_000 else f"{what} {value}"
            for what, value in self._most.items()
        )


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)


def _files(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def _size(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.lstat().st_size
        except OSError:
            continue
    return total
