"""Devices and network adapters of the host, and how near they are to each other on PCIe, as `nvidia-smi topo` words it.

PIX: one PCIe switch between them; PXB: several; PHB: the CPU's host bridge; NODE: one NUMA node; SYS: across nodes.
Read from /sys, so that it can be had without any driver's library; NVLink is not to be seen there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from roundwatch.samplers import amd_sysfs
from roundwatch.samplers.base import Paths

MAX_SHOWN = 32


@dataclass(frozen=True, slots=True)
class Part:
    """A device or adapter. `way` leads from its root complex down to it; `node` is its NUMA node, -1 if unknown."""

    name: str
    model: str
    way: tuple[str, ...]
    node: int


def devices(paths: Paths) -> list[Part]:
    """The accelerators, in the order of their places on the bus: NVIDIA's "gpu0", ..., or AMD's."""
    folder = paths.proc / "driver" / "nvidia" / "gpus"
    try:
        found = [(place.name, _model(place / "information")) for place in sorted(folder.iterdir())]
    except OSError:
        found = []
    if not found:
        amd = amd_sysfs.devices(paths.sys / "class" / "drm")
        found = sorted((place.resolve().name, _text(place / "product_name") or "AMD") for place in amd)
    return [
        _part(f"gpu{number}", model, paths.sys / "bus" / "pci" / "devices" / address)
        for number, (address, model) in enumerate(found)
    ]


def adapters(paths: Paths) -> list[Part]:
    """InfiniBand and RoCE adapters, and the network interfaces of other hardware."""
    fast = sorted((paths.sys / "class" / "infiniband").glob("*"))
    parts = [_part(path.name, "", path / "device") for path in fast]
    known = {part.way for part in parts}
    for path in sorted((paths.sys / "class" / "net").glob("*")):
        part = _part(path.name, "", path / "device")
        if part.way and part.way not in known:
            parts.append(part)
    return parts


def nearness(one: Part, other: Part) -> str:
    """How two parts are connected; "X" for a part and itself, "?" where /sys does not tell."""
    if one.name == other.name:
        return "X"
    if not one.way or not other.way:
        return "?"
    if one.way[0] != other.way[0]:
        return "NODE" if one.node == other.node != -1 else "SYS"
    shared = next((at for at, (a, b) in enumerate(zip(one.way, other.way, strict=False)) if a != b), len(one.way))
    if shared == 1:
        return "PHB"
    return "PIX" if max(len(one.way), len(other.way)) - shared <= 2 else "PXB"


def table(paths: Paths) -> dict[str, str]:
    """For each device and adapter: its NUMA node and its nearness to each device, "node 0: X PIX SYS SYS"."""
    found: Sequence[Part] = devices(paths)
    if not found:
        return {}
    rows = [*found, *adapters(paths)][:MAX_SHOWN]
    return {row.name: f"node {row.node}: {' '.join(nearness(row, device) for device in found)}" for row in rows}


def _part(name: str, model: str, place: Path) -> Part:
    try:
        parts = place.resolve(strict=True).parts
    except OSError:
        return Part(name, model, (), -1)
    root = next((at for at, part in enumerate(parts) if part.startswith("pci") and ":" in part), None)
    node = amd_sysfs.number(place / "numa_node")
    return Part(name, model, () if root is None else parts[root:], -1 if node is None else int(node))


def _model(information: Path) -> str:
    """The name that NVIDIA's driver gives a device, from a line such as "Model:  NVIDIA H100 80GB HBM3"."""
    lines = (line.partition(":") for line in _text(information).splitlines())
    return next((value.strip() for key, _, value in lines if key == "Model"), "NVIDIA")


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return ""
