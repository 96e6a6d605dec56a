"""AMD's management library without a device: two of them answer with values as a MI300X gives, "N/A" included."""

from enum import Enum
from typing import Any


class AmdSmiMemoryType(Enum):
    VRAM = 0


class AmdSmiTemperatureType(Enum):
    HOTSPOT = 1


class AmdSmiTemperatureMetric(Enum):
    CURRENT = 0


class AmdSmiClkType(Enum):
    GFX = 0
    MEM = 4


class AmdSmiLibraryException(Exception):  # noqa: N818 - the library's own name
    """What the library raises for everything that fails."""


def amdsmi_init() -> None:
    """Finds the driver."""


def amdsmi_get_processor_handles() -> list[int]:
    return [0, 1]


def amdsmi_get_gpu_device_uuid(handle: int) -> str:
    return f"{handle:02}ff74a1-0000-1000-80a3-000000000000"


def amdsmi_get_gpu_activity(handle: int) -> dict[str, Any]:
    return {"gfx_activity": 97, "umc_activity": 31 if handle == 0 else "N/A", "mm_activity": "N/A"}


def amdsmi_get_gpu_memory_usage(handle: int, kind: AmdSmiMemoryType) -> int:
    return 60 << 30


def amdsmi_get_gpu_memory_total(handle: int, kind: AmdSmiMemoryType) -> int:
    return 192 << 30


def amdsmi_get_power_info(handle: int) -> dict[str, Any]:
    return {"current_socket_power": 640, "average_socket_power": "N/A", "power_limit": 750000000}


def amdsmi_get_temp_metric(handle: int, kind: AmdSmiTemperatureType, metric: AmdSmiTemperatureMetric) -> int:
    return 71


def amdsmi_get_clock_info(handle: int, kind: AmdSmiClkType) -> dict[str, Any]:
    return {"clk": 2100 if kind is AmdSmiClkType.GFX else 1300, "max_clk": 2100}


def amdsmi_get_gpu_total_ecc_count(handle: int) -> dict[str, int]:
    if handle == 1:
        raise AmdSmiLibraryException("AMDSMI_STATUS_NOT_SUPPORTED")
    return {"correctable_count": 2, "uncorrectable_count": 0}
