"""Memory that processes hold on NVIDIA devices: read once for all, and told as each training's own."""

import time
from collections.abc import Mapping
from typing import Any

from roundwatch.samplers.base import Paths, Reading
from roundwatch.samplers.nvidia import Device, Nvml
from roundwatch.samplers.rates import Clock

METRIC = "process_gpu_memory_bytes"
OLD_S = 10.0


class Holdings:
    """Who held how much when it was last looked at. Written by one thread, read by another."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._written: tuple[float, dict[int, dict[str, int]]] = (float("-inf"), {})

    def write(self, held: dict[int, dict[str, int]]) -> None:
        self._written = self._clock(), held

    def of(self, pids: tuple[int, ...]) -> dict[str, int]:
        """Bytes by device of the process that goes by one of these numbers; nothing where nobody looked lately."""
        when, held = self._written
        if self._clock() - when > OLD_S:
            return {}
        return next((held[pid] for pid in pids if pid in held), {})


class NvidiaProcessSampler:
    """Looks at every device's processes and notes what they hold. It has no readings of its own."""

    name = "nvidia processes"

    def __init__(self, nvml: Nvml, holdings: Holdings) -> None:
        self._nvml, self._holdings = nvml, holdings

    @property
    def absent(self) -> Mapping[str, str]:
        devices = self._nvml.devices()
        if not devices:
            return {METRIC: self._nvml.why}
        refused = ((one, (one.refused | one.absent).get(METRIC)) for one in devices)
        return {f"{METRIC} {device.uuid}": why for device, why in refused if why is not None}

    def read(self) -> list[Reading]:
        held: dict[int, dict[str, int]] = {}
        for device in self._nvml.devices():
            for process in self._processes(device):
                # A MIG instance's process is told by the whole device as well, but without a number.
                if process.usedGpuMemory is not None:
                    held.setdefault(process.pid, {})[device.uuid] = process.usedGpuMemory
        self._holdings.write(held)
        return []

    def _processes(self, device: Device) -> list[Any]:
        return list(device.ask(METRIC, self._nvml.api.nvmlDeviceGetComputeRunningProcesses) or ())


class ProcessDeviceSampler:
    """What was noted of one process; nothing is asked of the driver."""

    name = "process devices"
    absent: Mapping[str, str] = {}

    def __init__(self, pid: int, holdings: Holdings, paths: Paths) -> None:
        self._holdings = holdings
        self._pids = (pid, *_elsewhere(pid, paths))

    def read(self) -> list[Reading]:
        held = self._holdings.of(self._pids)
        return [Reading(METRIC, "bytes", float(size), uuid, "process") for uuid, size in held.items()]


def _elsewhere(pid: int, paths: Paths) -> tuple[int, ...]:
    """The process's numbers in the namespaces below this one: what a driver in a container may call it by."""
    try:
        text = (paths.proc / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return ()
    line = next((line for line in text.splitlines() if line.startswith("NSpid:")), "")
    return tuple(int(word) for word in line.split()[2:] if word.isdigit())


HOLDINGS = Holdings()
