"""The host's CPUs: how busy they are, by NUMA node and the busiest alone, and how many tasks want them."""

import itertools
from collections.abc import Iterable

from roundwatch.samplers.base import Paths, Reading, contents, reason
from roundwatch.samplers.cpulist import cpus

# Positions in a "cpu" line of /proc/stat; guest time is already counted in user time.
IDLE, IOWAIT, COUNTED = 3, 4, 8
UTILISATION, BUSIEST, COUNT = "host_cpu_utilisation_ratio", "host_cpu_busiest_ratio", "host_cpus"
BY_NODE = "host_cpu_node_utilisation_ratio"
Times = tuple[int, int]


def cpu_times(text: str) -> dict[str, Times]:
    """(busy, total) ticks since boot of all CPUs ("") and of each ("0"), from the text of `/proc/stat`."""
    found = {}
    for line in itertools.takewhile(lambda line: line.startswith("cpu"), text.splitlines()):
        words = line.split()
        ticks = [int(word) for word in words[1:][:COUNTED]]
        found[words[0][3:]] = (sum(ticks) - ticks[IDLE] - ticks[IOWAIT], sum(ticks))
    return found


def _busy(now: Times, before: Times) -> float | None:
    """The busy share between two readings; None where a counter stood still, or went back as after a migration."""
    busy, total = now[0] - before[0], now[1] - before[1]
    return busy / total if total > 0 and busy >= 0 else None


class HostSampler:
    """CPU utilisation and load of the host. The first reading has no utilisation: it needs two."""

    name = "host"

    def __init__(self, paths: Paths) -> None:
        self.absent: dict[str, str] = {}
        self._stat, self._loadavg = paths.proc / "stat", paths.proc / "loadavg"
        self._nodes_folder = paths.sys / "devices" / "system" / "node"
        self._nodes: dict[str, set[str]] | None = None
        self._before: dict[str, Times] = {}

    def read(self) -> list[Reading]:
        self.absent = {}
        return [*self._utilisation(), *self._load()]

    def _utilisation(self) -> list[Reading]:
        try:
            now = cpu_times(contents(self._stat))
            all_now = now[""]
        except (OSError, ValueError, IndexError, KeyError) as error:
            self.absent = dict.fromkeys((UTILISATION, BUSIEST, COUNT), reason(error))
            return []
        before, self._before = self._before, now
        shares = {cpu: _busy(now[cpu], before[cpu]) for cpu in now if cpu and cpu in before}
        whole = _busy(all_now, before[""]) if "" in before else None
        counted = [Reading(COUNT, "cpus", float(len(now) - 1))] if len(now) > 1 else []
        if whole is None:
            self.absent |= dict.fromkeys((UTILISATION, BUSIEST), "needs two readings")
            return counted
        readings = [Reading(UTILISATION, "ratio", whole), *counted, *self._by_node(now, before)]
        known = [share for share in shares.values() if share is not None]
        return [*readings, Reading(BUSIEST, "ratio", max(known))] if known else readings

    def _by_node(self, now: dict[str, Times], before: dict[str, Times]) -> list[Reading]:
        if self._nodes is None:
            self._nodes = self._found_nodes()
        readings = []
        for node, members in self._nodes.items():
            there = [cpu for cpu in members if cpu in now and cpu in before]
            share = _busy(_sum(now[cpu] for cpu in there), _sum(before[cpu] for cpu in there))
            if share is not None:
                readings.append(Reading(BY_NODE, "ratio", share, device=node))
        return readings

    def _found_nodes(self) -> dict[str, set[str]]:
        """The CPUs of each NUMA node; nothing for a host of one, which would say the same twice."""
        nodes = {}
        for file in sorted(self._nodes_folder.glob("node[0-9]*/cpulist")):
            try:
                nodes[file.parent.name] = {str(cpu) for cpu in cpus(file.read_text())}
            except (OSError, ValueError):
                return {}
        return nodes if len(nodes) > 1 else {}

    def _load(self) -> list[Reading]:
        try:
            return [Reading("host_load1", "", float(contents(self._loadavg).split()[0]))]
        except (OSError, ValueError, IndexError) as error:
            self.absent["host_load1"] = reason(error)
            return []


def _sum(times: Iterable[Times]) -> Times:
    listed = list(times)
    return sum(busy for busy, _ in listed), sum(total for _, total in listed)
