"""AMD devices as the kernel's driver shows them in /sys: for hosts without AMD's management library."""

import time
from pathlib import Path

from roundwatch.samplers.base import Paths, Reading
from roundwatch.samplers.rates import Clock, Due

AMD = "0x1002"
LOOK_AGAIN_S = 60.0
NONE = "no AMD device is to be seen in /sys/class/drm"
# Our metric, its unit, the file below the device's folder, and what one of its units is of ours.
FILES = (
    ("gpu_utilisation_ratio", "ratio", "gpu_busy_percent", 1e-2),
    ("gpu_memory_busy_ratio", "ratio", "mem_busy_percent", 1e-2),
    ("gpu_memory_used_bytes", "bytes", "mem_info_vram_used", 1),
    ("gpu_memory_total_bytes", "bytes", "mem_info_vram_total", 1),
    ("gpu_pcie_link_width", "", "current_link_width", 1),
    ("gpu_pcie_replays_total", "", "pcie_replay_count", 1),
)
# The same below its hwmon folder, the first file that is there.
SENSORS = (
    ("gpu_power_watts", "watts", ("power1_average", "power1_input"), 1e-6),
    ("gpu_power_limit_watts", "watts", ("power1_cap",), 1e-6),
    ("gpu_temperature_celsius", "celsius", ("temp2_input", "temp1_input"), 1e-3),
    ("gpu_sm_clock_hertz", "hertz", ("freq1_input",), 1),
    ("gpu_memory_clock_hertz", "hertz", ("freq2_input",), 1),
)
# Gigatransfers a second of each PCIe generation, as "current_link_speed" writes them.
GENERATIONS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}


class AmdSysfsSampler:
    """Every AMD device in turn, each file by itself."""

    name = "amd"

    def __init__(self, paths: Paths, clock: Clock = time.monotonic) -> None:
        self.absent: dict[str, str] = {}
        self._drm = paths.sys / "class" / "drm"
        self._due = Due(LOOK_AGAIN_S, clock)
        self.folders: list[Path] = []

    def read(self) -> list[Reading]:
        self.absent = {}
        if self._due():
            self.folders = devices(self._drm)
        if not self.folders:
            self.absent = {"gpu_utilisation_ratio": NONE}
        return [reading for folder in self.folders for reading in self._of(folder)]

    def _of(self, folder: Path) -> list[Reading]:
        device = uuid(folder)
        readings = []
        for metric, unit, name, scale in FILES:
            readings += self._scaled(device, metric, unit, [folder / name], scale)
        sensors = next(iter(sorted(folder.glob("hwmon/hwmon*"))), folder / "hwmon")
        for metric, unit, names, scale in SENSORS:
            readings += self._scaled(device, metric, unit, [sensors / name for name in names], scale)
        return [*readings, *_link(folder, device), *_ecc(folder, device)]

    def _scaled(self, device: str, metric: str, unit: str, files: list[Path], scale: float) -> list[Reading]:
        value = next((value for file in files if (value := number(file)) is not None), None)
        if value is None:
            self.absent[f"{metric} {device}"] = f"{files[0]} cannot be read, or holds no number"
            return []
        return [Reading(metric, unit, value * scale, device, "device")]


def devices(drm: Path) -> list[Path]:
    """The folders of AMD's devices, by card."""
    try:
        cards = sorted(path for path in drm.iterdir() if path.name.startswith("card") and path.name[4:].isdigit())
    except OSError:
        return []
    return [card / "device" for card in cards if _text(card / "device" / "vendor") == AMD]


def uuid(folder: Path) -> str:
    """The device's own number where it has one, else its place on the bus."""
    unique = _text(folder / "unique_id")
    return f"AMD-{unique}" if unique else f"AMD-{folder.resolve().name}"


def number(file: Path) -> float | None:
    """What a file holds, if that is a number."""
    text = _text(file)
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _link(folder: Path, device: str) -> list[Reading]:
    """Generation, and whether width or speed are less than device and slot could do."""
    speed, best = _text(folder / "current_link_speed"), _text(folder / "max_link_speed")
    width, widest = number(folder / "current_link_width"), number(folder / "max_link_width")
    readings = []
    generation = GENERATIONS.get(speed.split(" ")[0])
    if generation is not None:
        readings.append(Reading("gpu_pcie_link_generation", "", float(generation), device, "device"))
    if speed and best and width is not None and widest is not None:
        down = float(width < widest or speed != best)
        readings.append(Reading("gpu_pcie_downgraded", "", down, device, "device"))
    return readings


def _ecc(folder: Path, device: str) -> list[Reading]:
    """Errors of the memory, counted by the driver as "ue: 0" and "ce: 3"."""
    lines = _text(folder / "ras" / "umc_err_count").splitlines()
    counted = dict(line.replace(" ", "").split(":", 1) for line in lines if ":" in line)
    readings = []
    for key, kind in (("ce", "corrected"), ("ue", "uncorrected")):
        if counted.get(key, "").isdigit():
            readings.append(Reading(f"gpu_ecc_{kind}_errors_total", "", float(counted[key]), device, "device"))
    return readings


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""
