"""NVIDIA devices: eight of them, one split, one that fails in the middle, one that falls off the bus."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundwatch.samplers import nvidia
from roundwatch.samplers.nvidia import LOST, NO_DRIVER, NOT_INSTALLED, Nvml
from roundwatch.samplers.nvidia_devices import NvidiaSampler
from roundwatch.samplers.nvidia_links import NvidiaLinkSampler
from roundwatch.samplers.nvidia_processes import METRIC, Holdings, NvidiaProcessSampler, ProcessDeviceSampler
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site
from tests.agents.fakes import nvml as fake
from tests.agents.fakes.kernel import Kernel, values
from tests.agents.fakes.nvml import instance, uuid

GIB = 1 << 30
USED, UTILISATION, POWER = "gpu_memory_used_bytes", "gpu_utilisation_ratio", "gpu_power_watts"


class Driver:
    """The library in this process, and a clock of the test's own; `nvml` is what samplers are given."""

    def __init__(self) -> None:
        self.library = fake.loaded()
        self.library.fake_reset(1)
        self.seconds = 100.0
        self.nvml = Nvml(clock=self.clock)

    def clock(self) -> float:
        return self.seconds

    def tick(self, number: int, *, after_s: float = 2.0) -> None:
        self.library.fake_tick(number)
        self.seconds += after_s


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    driver.library.fake_reset(0)


def test_a_device_tells_what_it_does_in_base_units_under_its_uuid(driver: Driver) -> None:
    readings = NvidiaSampler(driver.nvml, driver.clock).read()
    assert {reading.source for reading in readings} == {"device"}
    assert values(reading for reading in readings if reading.device == uuid(2)) == {
        f"{metric} {uuid(2)}": value
        for metric, value in {
            UTILISATION: 0.92,
            "gpu_memory_busy_ratio": 0.4,
            USED: 30 * GIB,
            "gpu_memory_total_bytes": 80 * GIB,
            POWER: 650.5,
            "gpu_power_limit_watts": 700,
            "gpu_temperature_celsius": 61,
            "gpu_sm_clock_hertz": 1755e6,
            "gpu_sm_clock_max_hertz": 1980e6,
            "gpu_memory_clock_hertz": 2619e6,
            "gpu_clocks_event_reasons": 0x44,
            "gpu_throttled_by_power": 1,
            "gpu_throttled_by_heat": 1,
            "gpu_throttled_by_board": 0,
            "gpu_ecc_corrected_errors_total": 3,
            "gpu_ecc_uncorrected_errors_total": 0,
            "gpu_reachable": 1,
        }.items()
    }


def test_all_eight_devices_and_the_instances_of_the_split_one_are_read(driver: Driver) -> None:
    readings = NvidiaSampler(driver.nvml, driver.clock).read()
    told = {reading.device for reading in readings if reading.metric == USED}
    assert told == {uuid(index) for index in range(8)} | {instance(1), instance(2)}


def test_a_split_device_has_no_utilisation_rather_than_none_of_it(driver: Driver) -> None:
    sampler = NvidiaSampler(driver.nvml, driver.clock)
    found = values(sampler.read())
    for device in (uuid(1), instance(1), instance(2)):
        for metric in (UTILISATION, "gpu_ecc_corrected_errors_total"):
            assert f"{metric} {device}" not in found
            assert "not supported" in sampler.absent[f"{metric} {device}"]
    assert found[f"{POWER} {uuid(1)}"] == 650.5
    assert found[f"{USED} {instance(1)}"] == GIB
    assert f"{POWER} {instance(1)}" not in found


def test_what_a_device_does_not_support_is_asked_once(driver: Driver) -> None:
    sampler = NvidiaSampler(driver.nvml, driver.clock)
    sampler.read()
    first = driver.library.fake_calls()
    sampler.read()
    second = driver.library.fake_calls() - first
    driver.seconds += 1
    sampler.read()
    assert driver.library.fake_calls() - first - second == second
    # Seven devices answer five questions, the split one and its two instances fewer; the rest is asked seldom.
    assert second == 7 * 5 + 4 + 2 * 3
    driver.seconds += 5
    before = driver.library.fake_calls()
    sampler.read()
    assert driver.library.fake_calls() - before > second


def test_a_device_that_fails_in_the_middle_is_absent_for_as_long_and_the_others_go_on(driver: Driver) -> None:
    sampler = NvidiaSampler(driver.nvml, driver.clock)
    before = values(sampler.read())
    driver.tick(1)
    during = values(sampler.read())
    why = dict(sampler.absent)
    driver.tick(0)
    after = values(sampler.read())
    name = f"{UTILISATION} {uuid(3)}"
    assert (before[name], after[name]) == (0.93, 0.93)
    assert [name for name in during if uuid(3) in name] == [f"gpu_reachable {uuid(3)}"]
    assert "Unknown" in why[name]
    assert name not in sampler.absent
    assert {f"{UTILISATION} {uuid(index)}" for index in (0, 2, 4, 5, 6, 7)} <= during.keys()


def test_a_device_that_falls_off_the_bus_stays_absent_and_is_said_to_be_gone(driver: Driver) -> None:
    sampler = NvidiaSampler(driver.nvml, driver.clock)
    assert values(sampler.read())[f"gpu_reachable {uuid(5)}"] == 1
    for number in (2, 3, 40):
        driver.tick(number, after_s=40)  # the devices are looked up again meanwhile
        found = values(sampler.read())
        gone = {name: value for name, value in found.items() if uuid(5) in name and "xid" not in name}
        assert gone == {f"gpu_reachable {uuid(5)}": 0}
        assert sampler.absent[f"{POWER} {uuid(5)}"] == LOST
        assert found[f"{POWER} {uuid(4)}"] == 650.5


def test_xid_errors_are_told_one_by_one_as_they_happen(driver: Driver) -> None:
    sampler = NvidiaSampler(driver.nvml, driver.clock)
    codes = []
    for number in range(5):
        driver.tick(number)
        codes.append([reading.value for reading in sampler.read() if reading.metric == "gpu_xid_error_code"])
    assert codes == [[], [], [79], [45], []]


def test_no_driver_is_said_and_one_that_comes_later_is_found(driver: Driver) -> None:
    driver.library.fake_reset(0)
    sampler = NvidiaSampler(driver.nvml, driver.clock)
    assert sampler.read() == []
    assert "Driver Not Loaded" in sampler.absent[UTILISATION]
    driver.library.fake_reset(1)
    assert sampler.read() == [], "it is not looked for all the time"
    driver.seconds += 60
    assert sampler.read()


def test_without_the_package_the_reason_says_how_to_get_it(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(nvidia, "DRIVERS", (Path("/proc/self"),))
    for sampler in (
        NvidiaSampler(driver.nvml),
        NvidiaLinkSampler(driver.nvml),
        NvidiaProcessSampler(driver.nvml, Holdings()),
    ):
        assert sampler.read() == []
        assert list(sampler.absent.values()) == [NOT_INSTALLED]


def test_nobody_is_told_to_install_a_package_for_a_driver_that_is_not_there(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(nvidia, "DRIVERS", (Path("/proc/self/nothing"),))
    sampler = NvidiaSampler(driver.nvml)
    assert sampler.read() == []
    assert list(sampler.absent.values()) == [NO_DRIVER]


def test_links_tell_traffic_and_what_is_less_than_it_could_be(driver: Driver) -> None:
    sampler = NvidiaLinkSampler(driver.nvml, driver.clock)
    state = values(sampler.read())
    driver.tick(4)
    traffic = values(sampler.read())
    assert state[f"gpu_pcie_link_generation {uuid(2)}"] == 5
    assert state[f"gpu_pcie_link_width {uuid(2)}"] == 16
    downgraded = {name.split()[1]: value for name, value in state.items() if name.startswith("gpu_pcie_downgraded")}
    # Device 7 idles: that its link is slower now says nothing.
    assert downgraded == {uuid(index): float(index == 6) for index in range(7)}
    assert (state[f"gpu_nvlink_links {uuid(2)}"], state[f"gpu_nvlink_links_down {uuid(2)}"]) == (18, 0)
    assert (state[f"gpu_nvlink_links {uuid(4)}"], state[f"gpu_nvlink_links_down {uuid(4)}"]) == (16, 2)
    assert traffic[f"gpu_nvlink_transmit_bytes_per_second {uuid(2)}"] == 4 * 1024 * 1024 / 2
    assert traffic[f"gpu_nvlink_receive_bytes_per_second {uuid(2)}"] == 2 * 4 * 1024 * 1024 / 2


def test_pcie_traffic_comes_from_counters_and_else_from_the_drivers_own_measure(driver: Driver) -> None:
    sampler = NvidiaLinkSampler(driver.nvml, driver.clock)
    first = values(sampler.read())
    driver.tick(4)
    found = values(sampler.read())
    assert f"gpu_pcie_transmit_bytes_per_second {uuid(7)}" not in first
    assert found[f"gpu_pcie_transmit_bytes_per_second {uuid(7)}"] == 2 * 4_000_000 / 2
    assert found[f"gpu_pcie_receive_bytes_per_second {uuid(7)}"] == 4_000_000 / 2
    assert found[f"gpu_pcie_transmit_bytes_per_second {uuid(2)}"] == 1e6
    assert "gpu_pcie_transmit_bytes_per_second " + uuid(1) in sampler.absent


def test_a_device_without_nvlink_says_so(driver: Driver) -> None:
    sampler = NvidiaLinkSampler(driver.nvml, driver.clock)
    found = values(sampler.read())
    assert f"gpu_nvlink_links {uuid(0)}" not in found
    assert "not supported" in sampler.absent[f"gpu_nvlink_links {uuid(0)}"]


def test_memory_on_devices_is_told_as_the_process_that_holds_it(driver: Driver, tmp_path: Path) -> None:
    holdings = Holdings(driver.clock)
    assert NvidiaProcessSampler(driver.nvml, holdings).read() == []
    mine = ProcessDeviceSampler(4242, holdings, Kernel(tmp_path).paths)
    assert values(mine.read()) == {f"{METRIC} {uuid(0)}": 20 * GIB, f"{METRIC} {uuid(2)}": 20 * GIB}
    assert {reading.source for reading in mine.read()} == {"process"}
    for other in (99, 7):  # one whose memory the driver does not tell, one that is on no device
        assert ProcessDeviceSampler(other, holdings, Kernel(tmp_path).paths).read() == []


def test_two_workers_on_one_device_are_told_what_each_holds_on_it_by_its_uuid(driver: Driver, tmp_path: Path) -> None:
    driver.library.fake_second_pid(4243)
    holdings = Holdings(driver.clock)
    NvidiaProcessSampler(driver.nvml, holdings).read()
    paths = Kernel(tmp_path).paths
    first, second = (values(ProcessDeviceSampler(pid, holdings, paths).read()) for pid in (4242, 4243))
    assert (first[f"{METRIC} {uuid(2)}"], second[f"{METRIC} {uuid(2)}"]) == (20 * GIB, 5 * GIB)
    assert f"{METRIC} {uuid(0)}" not in second


def test_a_process_is_known_by_its_number_in_its_container_too(driver: Driver, tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    kernel.proc("9001/status", "Name:\tpython\nNSpid:\t9001\t4242\n")
    holdings = Holdings(driver.clock)
    NvidiaProcessSampler(driver.nvml, holdings).read()
    assert len(ProcessDeviceSampler(9001, holdings, kernel.paths).read()) == 2


def test_what_nobody_has_looked_at_for_long_is_absent(driver: Driver, tmp_path: Path) -> None:
    holdings = Holdings(driver.clock)
    NvidiaProcessSampler(driver.nvml, holdings).read()
    driver.seconds += 60
    assert ProcessDeviceSampler(4242, holdings, Kernel(tmp_path).paths).read() == []


def test_a_shipper_sends_what_its_hosts_devices_do_and_what_a_training_holds_on_them(
    site: Site, collector: Collector, tmp_path: Path
) -> None:
    fake.build(tmp_path)
    site.environment |= {"LD_LIBRARY_PATH": str(tmp_path), "FAKE_NVML": "1"}
    site.shipper()
    site.python("import roundwatch, signal; run = roundwatch.init('p'); signal.pause()")

    def told() -> dict[str, float]:
        with collector.lock:
            rows = [row for heard in collector.streams.values() for row in heard.of("sample")]
        return {f"{row['metric']['name']} {row['device']}": row["value"] for row in rows}

    until(lambda: f"{UTILISATION} {uuid(7)}" in told(), "samples of the devices arrive")
    found = told()
    assert found[f"{UTILISATION} {uuid(0)}"] == 0.9
    assert f"{UTILISATION} {uuid(1)}" not in found
    assert found[f"{USED} {instance(2)}"] == GIB
    until(lambda: "process_threads None" in told(), "the training is sampled as well")
    assert not [name for name in told() if name.startswith(METRIC)], "it holds nothing there"
