"""What else a host tells: CPUs by node, pressure, disks, link speeds, InfiniBand, and where its devices are."""

from pathlib import Path

import pytest

from roundwatch.samplers import topology
from roundwatch.samplers.disk import DiskSampler
from roundwatch.samplers.host import HostSampler
from roundwatch.samplers.infiniband import InfinibandSampler
from roundwatch.samplers.network import NetworkSampler
from roundwatch.samplers.pressure import PressureSampler
from tests.agents.fakes.kernel import Kernel, values

DISK = "{major} {minor} {name} 10 0 {read} 5 20 0 {written} 7 0 {busy_ms} 12 0 0 0 0\n"


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def ticks(kernel: Kernel, *busy_and_idle: tuple[int, int]) -> None:
    """The ticks of each CPU; those of all are their sum."""
    lines = [("cpu ", *(sum(column) for column in zip(*busy_and_idle, strict=True)))]
    lines += [(f"cpu{number}", busy, idle) for number, (busy, idle) in enumerate(busy_and_idle)]
    kernel.proc("stat", "".join(f"{name} {busy} 0 0 {idle} 0 0 0 0 0 0\n" for name, busy, idle in lines) + "intr 9\n")


def test_cpus_are_told_by_node_and_the_busiest_alone(kernel: Kernel) -> None:
    kernel.sys("devices/system/node/node0/cpulist", "0-1\n")
    kernel.sys("devices/system/node/node1/cpulist", "2-3\n")
    sampler = HostSampler(kernel.paths)
    ticks(kernel, (0, 0), (0, 0), (0, 0), (0, 0))
    sampler.read()
    ticks(kernel, (100, 0), (50, 50), (0, 100), (10, 90))
    found = values(sampler.read())
    assert found == {
        "host_cpu_utilisation_ratio": pytest.approx(0.4),
        "host_cpu_node_utilisation_ratio node0": pytest.approx(0.75),
        "host_cpu_node_utilisation_ratio node1": pytest.approx(0.05),
        "host_cpu_busiest_ratio": 1.0,
        "host_cpus": 4,
    }


def test_a_host_of_one_node_does_not_say_the_same_twice(kernel: Kernel) -> None:
    kernel.sys("devices/system/node/node0/cpulist", "0-1\n")
    sampler = HostSampler(kernel.paths)
    ticks(kernel, (0, 0), (0, 0))
    sampler.read()
    ticks(kernel, (10, 90), (50, 50))
    assert {reading.device for reading in sampler.read()} == {None}


def test_pressure_of_the_host_and_its_absence(kernel: Kernel) -> None:
    seconds = [10.0]
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total={0}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={1}\n"
    for resource in ("cpu", "io"):
        kernel.proc(f"pressure/{resource}", text.format(1_000_000, 500_000))
    sampler = PressureSampler(kernel.paths, clock=lambda: seconds[0])
    assert sampler.read() == []
    seconds[0] = 14.0
    kernel.proc("pressure/cpu", text.format(4_000_000, 500_000))
    kernel.proc("pressure/io", text.format(1_000_000, 900_000))
    assert values(sampler.read()) == {
        "host_pressure_cpu_waiting_ratio": 0.75,
        "host_pressure_io_waiting_ratio": 0.0,
        "host_pressure_io_stalled_ratio": pytest.approx(0.1),
    }
    assert "No such file" in sampler.absent["host_pressure_memory_waiting_ratio"]


def disks(kernel: Kernel, *, sectors: int, busy_ms: int) -> None:
    rows = [(259, 0, "nvme0n1"), (259, 1, "nvme0n1p1"), (7, 0, "loop0"), (253, 0, "dm-0"), (8, 0, "sda")]
    numbers = {"nvme0n1": (sectors, 2 * sectors, busy_ms), "sda": (0, 0, 0)}
    text = ""
    for major, minor, name in rows:
        read, written, busy = numbers.get(name, (sectors, sectors, busy_ms))
        text += DISK.format(major=major, minor=minor, name=name, read=read, written=written, busy_ms=busy)
        if name in ("nvme0n1", "loop0", "dm-0", "sda"):
            kernel.sys(f"block/{name}/size", "1\n")
    kernel.proc("diskstats", text)


def test_disks_are_told_whole_and_once(kernel: Kernel) -> None:
    seconds = [10.0]
    sampler = DiskSampler(kernel.paths, clock=lambda: seconds[0])
    disks(kernel, sectors=100, busy_ms=0)
    assert sampler.read() == []
    assert "two readings" in sampler.absent["disk_busy_ratio"]
    disks(kernel, sectors=300, busy_ms=500)
    seconds[0] = 12.0
    assert values(sampler.read()) == {
        "disk_read_bytes_per_second nvme0n1": 200 * 512 / 2,
        "disk_written_bytes_per_second nvme0n1": 400 * 512 / 2,
        "disk_busy_ratio nvme0n1": 0.25,
    }


@pytest.mark.parametrize(("speed", "told"), [("25000", 25e9 / 8), ("-1", None), (None, None)])
def test_a_link_tells_its_speed_if_it_has_one(kernel: Kernel, speed: str | None, told: float | None) -> None:
    kernel.proc("self/net/dev", "h\nh\n  eth0: 5 9 0 0 0 0 0 0 5 9 0 0 0 0 0 0\n")
    if speed is not None:
        kernel.sys("class/net/eth0/speed", f"{speed}\n")
    sampler = NetworkSampler(kernel.paths)
    assert values(sampler.read()).get("network_speed_bytes_per_second eth0") == told
    assert ("network_speed_bytes_per_second eth0" in sampler.absent) == (told is None)


def port(kernel: Kernel, *, received: int, state: str = "4: ACTIVE") -> None:
    folder = "class/infiniband/mlx5_0/ports/1"
    files = {"state": state, "rate": "400 Gb/sec (4X NDR)"}
    files |= {"counters/port_rcv_data": str(received), "counters/port_xmit_data": "0"}
    for name, text in files.items():
        kernel.sys(f"{folder}/{name}", f"{text}\n")


def test_infiniband_ports_tell_traffic_speed_and_when_they_are_down(kernel: Kernel) -> None:
    seconds = [10.0]
    sampler = InfinibandSampler(kernel.paths, clock=lambda: seconds[0])
    assert sampler.read() == []
    assert "no adapter" in sampler.absent["infiniband_link_down"]
    port(kernel, received=1000)
    sampler.read()
    seconds[0] = 12.0
    port(kernel, received=3000)
    traffic = {"network_receive_bytes_per_second mlx5_0/1": 4000, "network_transmit_bytes_per_second mlx5_0/1": 0}
    assert values(sampler.read()) == traffic, "a port's state is read seldom"
    seconds[0] = 16.0
    port(kernel, received=7000)
    assert values(sampler.read()) == traffic | {
        "infiniband_link_down mlx5_0/1": 0,
        "network_speed_bytes_per_second mlx5_0/1": 50e9,
    }
    seconds[0] = 20.0
    port(kernel, received=3000, state="1: DOWN")
    found = values(sampler.read())
    assert found["infiniband_link_down mlx5_0/1"] == 1
    assert "network_speed_bytes_per_second mlx5_0/1" not in found


def test_how_near_devices_and_adapters_are_is_read_off_the_bus(kernel: Kernel) -> None:
    switch, other = "pci0000:17/0000:17:01.0/0000:18:00.0", "pci0000:17/0000:17:01.0/0000:18:01.0/0000:20:00.0"
    places = {
        "0000:1a:00.0": (f"{switch}/0000:19:00.0/0000:1a:00.0", 0),
        "0000:1b:00.0": (f"{switch}/0000:19:01.0/0000:1b:00.0", 0),
        "0000:21:00.0": (f"{other}/0000:21:00.0", 0),
        "0000:30:00.0": ("pci0000:17/0000:17:02.0/0000:30:00.0", 0),
        "0000:40:00.0": ("pci0000:3f/0000:3f:01.0/0000:40:00.0", 0),
        "0000:a0:00.0": ("pci0000:97/0000:97:01.0/0000:a0:00.0", 1),
    }
    bus = kernel.paths.sys / "bus/pci/devices"
    bus.mkdir(parents=True)
    for address, (place, node) in places.items():
        kernel.sys(f"devices/{place}/numa_node", f"{node}\n")
        (bus / address).symlink_to(kernel.paths.sys / "devices" / place)
        kernel.proc(f"driver/nvidia/gpus/{address}/information", "Model: \t NVIDIA H100\nIRQ: 1\n")
    adapter = kernel.paths.sys / "class/infiniband/mlx5_0"
    adapter.mkdir(parents=True)
    kernel.sys(f"devices/{switch}/0000:19:02.0/0000:1c:00.0/numa_node", "0\n")
    (adapter / "device").symlink_to(kernel.paths.sys / f"devices/{switch}/0000:19:02.0/0000:1c:00.0")
    assert topology.table(kernel.paths) == {
        "gpu0": "node 0: X PIX PXB PHB NODE SYS",
        "gpu1": "node 0: PIX X PXB PHB NODE SYS",
        "gpu2": "node 0: PXB PXB X PHB NODE SYS",
        "gpu3": "node 0: PHB PHB PHB X NODE SYS",
        "gpu4": "node 0: NODE NODE NODE NODE X SYS",
        "gpu5": "node 1: SYS SYS SYS SYS SYS X",
        "mlx5_0": "node 0: PIX PIX PXB PHB NODE SYS",
    }
    assert [part.model for part in topology.devices(kernel.paths)] == ["NVIDIA H100"] * 6


def test_without_devices_there_is_no_topology(kernel: Kernel) -> None:
    assert topology.table(kernel.paths) == {}
