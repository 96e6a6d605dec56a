"""AMD devices: out of AMD's library where it is there, else out of /sys."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundwatch.samplers.amd import AmdSampler
from roundwatch.samplers.amd_sysfs import NONE
from tests.agents.fakes.kernel import Kernel, values

ROCM = Path(__file__).parent / "fakes" / "rocm"
LIBRARY = "AMD-00ff74a1-0000-1000-80a3-000000000000"
UNIQUE = "AMD-0xabc123"
FILES = {
    "vendor": "0x1002",
    "unique_id": "0xabc123",
    "gpu_busy_percent": "88",
    "mem_busy_percent": "12",
    "mem_info_vram_used": str(20 << 30),
    "mem_info_vram_total": str(64 << 30),
    "current_link_width": "16",
    "max_link_width": "16",
    "current_link_speed": "16.0 GT/s PCIe",
    "max_link_speed": "32.0 GT/s PCIe",
    "hwmon/hwmon3/power1_average": "412000000",
    "hwmon/hwmon3/temp1_input": "45000",
    "hwmon/hwmon3/temp2_input": "66000",
    "hwmon/hwmon3/freq1_input": "1700000000",
    "ras/umc_err_count": "ue: 1\nce: 4",
}


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    kernel = Kernel(tmp_path)
    for name, text in FILES.items():
        kernel.sys(f"class/drm/card1/device/{name}", f"{text}\n")
    kernel.sys("class/drm/card0/device/vendor", "0x1a03\n")  # the board's own display
    kernel.sys("class/drm/card1-HDMI-A-1/status", "disconnected\n")
    return kernel


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AMD's package is installed."""
    monkeypatch.syspath_prepend(str(ROCM))
    yield
    sys.modules.pop("amdsmi", None)


def test_without_the_library_the_kernels_files_tell(kernel: Kernel) -> None:
    sampler = AmdSampler(kernel.paths)
    readings = sampler.read()
    assert {reading.source for reading in readings} == {"device"}
    assert values(readings) == pytest.approx(
        {
            f"{metric} {UNIQUE}": value
            for metric, value in {
                "gpu_utilisation_ratio": 0.88,
                "gpu_memory_busy_ratio": 0.12,
                "gpu_memory_used_bytes": 20 << 30,
                "gpu_memory_total_bytes": 64 << 30,
                "gpu_power_watts": 412,
                "gpu_temperature_celsius": 66,
                "gpu_sm_clock_hertz": 1.7e9,
                "gpu_pcie_link_width": 16,
                "gpu_pcie_link_generation": 4,
                "gpu_pcie_downgraded": 1,
                "gpu_ecc_corrected_errors_total": 4,
                "gpu_ecc_uncorrected_errors_total": 1,
            }.items()
        }
    )
    assert f"gpu_power_limit_watts {UNIQUE}" in sampler.absent


def test_a_file_that_is_gone_takes_no_other_with_it(kernel: Kernel) -> None:
    sampler = AmdSampler(kernel.paths)
    before = values(sampler.read())
    busy = kernel.paths.sys / "class/drm/card1/device/gpu_busy_percent"
    busy.unlink()
    after = values(sampler.read())
    assert before.keys() - after.keys() == {f"gpu_utilisation_ratio {UNIQUE}"}
    assert "gpu_busy_percent" in sampler.absent[f"gpu_utilisation_ratio {UNIQUE}"]
    busy.write_text("busy\n")
    assert values(sampler.read()) == after


@pytest.mark.usefixtures("library")
def test_with_the_library_it_is_asked_and_what_it_has_not_is_absent(kernel: Kernel) -> None:
    sampler = AmdSampler(kernel.paths)
    found = values(sampler.read())
    assert {name: value for name, value in found.items() if LIBRARY in name} == {
        f"gpu_utilisation_ratio {LIBRARY}": 0.97,
        f"gpu_memory_busy_ratio {LIBRARY}": 0.31,
        f"gpu_memory_used_bytes {LIBRARY}": 60 << 30,
        f"gpu_memory_total_bytes {LIBRARY}": 192 << 30,
        f"gpu_power_watts {LIBRARY}": 640,
        f"gpu_temperature_celsius {LIBRARY}": 71,
        f"gpu_sm_clock_hertz {LIBRARY}": 2.1e9,
        f"gpu_memory_clock_hertz {LIBRARY}": 1.3e9,
        f"gpu_ecc_corrected_errors_total {LIBRARY}": 2,
        f"gpu_ecc_uncorrected_errors_total {LIBRARY}": 0,
    }
    second = LIBRARY.replace("00ff", "01ff", 1)
    for metric in ("gpu_memory_busy_ratio", "gpu_ecc_corrected_errors_total"):
        assert f"{metric} {second}" not in found
        assert "supported" in sampler.absent[f"{metric} {second}"].lower()
    assert f"gpu_utilisation_ratio {second}" in found
    assert not [name for name in found if UNIQUE in name], "no device is told twice"


def test_a_host_without_amd_devices_says_so(tmp_path: Path) -> None:
    sampler = AmdSampler(Kernel(tmp_path).paths)
    assert sampler.read() == []
    assert sampler.absent == {"gpu_utilisation_ratio": NONE}
