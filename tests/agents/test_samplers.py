"""CPU, memory and network of a host: values against files of known content, and absence where they say nothing."""

import os
from pathlib import Path

import pytest

from roundwatch.samplers import host_samplers, process_samplers
from roundwatch.samplers.host import HostSampler
from roundwatch.samplers.memory import HostMemorySampler, of_process, process_memory
from roundwatch.samplers.network import NetworkSampler
from tests.agents.fakes.kernel import MIB, Kernel, values

CPU = "host_cpu_utilisation_ratio"
DEV = """Inter-|   Receive                          |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: {lo}  1 0 0 0 0 0 0 {lo} 1 0 0 0 0 0 0
  eth0:{received} 9 0 0 0 0 0 0 {sent} 9 0 0 0 0 0 0
  ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 veth1: {received} 9 0 0 0 0 0 0 {sent} 9 0 0 0 0 0 0
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def ticks(kernel: Kernel, user: int, idle: int, iowait: int = 0, guest: int = 0) -> None:
    kernel.proc("stat", f"cpu  {user} 0 0 {idle} {iowait} 0 0 0 {guest} 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n")


def test_utilisation_is_the_busy_share_between_two_readings(kernel: Kernel) -> None:
    kernel.proc("loadavg", "1.50 1.20 1.00 2/300 4242\n")
    ticks(kernel, user=1000, idle=9000)
    sampler = HostSampler(kernel.paths)
    assert values(sampler.read()) == {"host_load1": 1.5, "host_cpus": 1}
    assert CPU in sampler.absent
    ticks(kernel, user=1030, idle=9060, iowait=10, guest=30)
    assert values(sampler.read())[CPU] == pytest.approx(0.3)
    assert sampler.absent == {}


def test_a_cpu_counter_that_goes_back_gives_no_utilisation(kernel: Kernel) -> None:
    kernel.proc("loadavg", "0 0 0 1/1 1")
    sampler = HostSampler(kernel.paths)
    for user, idle in ((100, 900), (50, 980), (60, 990)):
        ticks(kernel, user=user, idle=idle)
        last = values(sampler.read())
        if user == 50:
            assert CPU not in last
    assert last[CPU] == pytest.approx(0.5)


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu a b c d e f g h\n", "intr 5\n"])
def test_an_unknown_stat_file_is_said_and_not_guessed(kernel: Kernel, text: str) -> None:
    kernel.proc("stat", text)
    sampler = HostSampler(kernel.paths)
    assert values(sampler.read()) == {}
    assert {CPU, "host_load1"} <= set(sampler.absent)


def test_host_memory_counts_anonymous_and_shared_but_no_page_cache(kernel: Kernel) -> None:
    kernel.proc(
        "meminfo", "MemTotal: 8192 kB\nMemAvailable: 4096 kB\nCached: 5000 kB\nAnonPages: 1024 kB\nShmem: 512 kB\n"
    )
    assert values(HostMemorySampler(kernel.paths).read()) == {
        "host_memory_bytes": 1536 * 1024,
        "host_memory_shared_bytes": 512 * 1024,
        "host_memory_total_bytes": 8 * MIB,
        "host_memory_available_bytes": 4 * MIB,
    }


def test_a_line_that_meminfo_lacks_is_absent_not_zero(kernel: Kernel) -> None:
    kernel.proc("meminfo", "MemTotal: 8192 kB\nAnonPages: 1024 kB\n")
    sampler = HostMemorySampler(kernel.paths)
    assert values(sampler.read()) == {"host_memory_total_bytes": 8 * MIB}
    assert "Shmem" in sampler.absent["host_memory_bytes"]
    assert "MemAvailable" in sampler.absent["host_memory_available_bytes"]


def test_process_memory_is_anonymous_plus_shared(kernel: Kernel) -> None:
    kernel.process(77, anon_mib=40, shmem_mib=2)
    readings = of_process(77, kernel.paths)
    assert values(readings) == {"process_memory_bytes": 42 * MIB, "process_memory_shared_bytes": 2 * MIB}
    assert {reading.source for reading in readings} == {"process"}


def test_memory_of_a_process_that_is_gone_is_absent(kernel: Kernel) -> None:
    assert of_process(77, kernel.paths) == []
    kernel.proc("78/status", "Name:\tkthreadd\n")
    assert of_process(78, kernel.paths) == []
    [sampler] = process_samplers(77, kernel.paths)
    assert list(sampler.read()) == []
    assert "77" in sampler.absent["process_memory_bytes"]


def test_own_memory_grows_by_what_is_kept_and_falls_when_given_back() -> None:
    before = values(process_memory())["process_memory_bytes"]
    kept = os.urandom(64 * MIB)
    during = values(process_memory())["process_memory_bytes"]
    del kept
    after = values(process_memory())["process_memory_bytes"]
    assert during - before == pytest.approx(64 * MIB, rel=0.1)
    assert during - after == pytest.approx(64 * MIB, rel=0.1)


def network(kernel: Kernel, *, received: int, sent: int, lo: int = 5) -> None:
    kernel.proc("self/net/dev", DEV.format(received=received, sent=sent, lo=lo))


def test_network_gives_rates_of_the_hardware_that_is_in_use(kernel: Kernel) -> None:
    (kernel.paths.sys / "class/net/eth0/device").mkdir(parents=True)
    now = [10.0]
    sampler = NetworkSampler(kernel.paths, clock=lambda: now[0])
    network(kernel, received=1000, sent=500)
    assert list(sampler.read()) == []
    assert "needs two readings" in sampler.absent["network_receive_bytes_per_second"]
    now[0] = 12.0
    network(kernel, received=5000, sent=600, lo=10**9)
    readings = sampler.read()
    assert values(readings) == {
        "network_receive_bytes_per_second eth0": 2000.0,
        "network_transmit_bytes_per_second eth0": 50.0,
    }
    assert {reading.unit for reading in readings} == {"bytes/s"}


def test_in_a_container_the_virtual_interfaces_are_all_there_is(kernel: Kernel) -> None:
    now = [1.0]
    sampler = NetworkSampler(kernel.paths, clock=lambda: now[0])
    network(kernel, received=1000, sent=500)
    sampler.read()
    now[0] = 2.0
    network(kernel, received=1001, sent=500)
    assert {reading.device for reading in sampler.read()} == {"eth0", "veth1"}


def test_a_network_counter_that_was_reset_gives_no_rate(kernel: Kernel) -> None:
    now = [1.0]
    sampler = NetworkSampler(kernel.paths, clock=lambda: now[0])
    network(kernel, received=1000, sent=500)
    sampler.read()
    now[0] = 2.0
    network(kernel, received=10, sent=600)
    assert {reading.metric for reading in sampler.read()} == {"network_transmit_bytes_per_second"}


def test_on_an_empty_kernel_every_sampler_says_what_it_lacks(kernel: Kernel) -> None:
    for sampler in host_samplers(kernel.paths):
        assert list(sampler.read()) == []
        assert sampler.absent
        assert all(sampler.absent.values())


def test_on_this_host_cpu_memory_and_visible_cpus_can_be_had() -> None:
    samplers = host_samplers()
    for sampler in samplers:
        list(sampler.read())
    found = values(reading for sampler in samplers for reading in sampler.read())
    assert found["visible_cpus"] == len(os.sched_getaffinity(0))
    assert 0 < found["host_memory_bytes"] < found["host_memory_total_bytes"]
    assert found["host_load1"] >= 0
