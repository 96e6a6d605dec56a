"""CPU time of processes with all their descendants, as /proc tells it."""

import os
from collections.abc import Mapping
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(parts: Mapping[str, int]) -> dict[str, float]:
    """Seconds of user and system time of each named process with its living descendants and the dead ones it reaped.

    A process that is named itself is not counted to the one that started it.
    """
    used: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue  # it ended meanwhile
        used[int(entry.name)] = sum(map(int, fields[11:15])) / _TICK
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    named = set(parts.values())
    return {name: _with_descendants(pid, used, children, named) for name, pid in parts.items()}


def _with_descendants(pid: int, used: Mapping[int, float], children: Mapping[int, list[int]], named: set[int]) -> float:
    below = (child for child in children.get(pid, ()) if child not in named)
    return used.get(pid, 0.0) + sum(_with_descendants(child, used, children, named) for child in below)
