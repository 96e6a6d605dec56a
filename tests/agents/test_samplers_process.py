"""What a training process does, seen from outside: of made-up files, of a real child, and under a real quota."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roundwatch.samplers import process_samplers
from roundwatch.samplers.process import ProcessSampler, ProportionalSampler
from tests.agents import cgroups
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site
from tests.agents.fakes.kernel import MIB, Kernel, values

STAT = "77 (a (b) c) S 1 77 77 0 -1 4194304 {minor} 9 {major} 9 {user} {system} 0 0 20 0 {threads} 0 100 0 0\n"
TICK = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def test_cpu_threads_and_page_faults_are_read_whatever_the_process_is_called(kernel: Kernel) -> None:
    seconds = [10.0]
    sampler = ProcessSampler(77, kernel.paths, clock=lambda: seconds[0])
    kernel.proc("77/stat", STAT.format(minor=100, major=1, user=TICK, system=0, threads=33))
    kernel.proc("77/status", "Name:\tp\nVmHWM:\t2048 kB\n")
    assert values(sampler.read()) == {"process_threads": 33, "process_memory_peak_bytes": 2 * MIB}
    assert "two readings" in sampler.absent["process_cpu_usage_cpus"]
    seconds[0] = 12.0
    kernel.proc("77/stat", STAT.format(minor=500, major=3, user=3 * TICK, system=TICK, threads=33))
    assert values(sampler.read()) == {
        "process_threads": 33,
        "process_cpu_usage_cpus": 1.5,
        "process_page_faults_per_second": 200,
        "process_major_page_faults_per_second": 1,
    }
    seconds[0] = 20.0
    assert values(sampler.read())["process_memory_peak_bytes"] == 2 * MIB, "what seldom changes is read seldom"


@pytest.mark.parametrize("text", ["", "77 (x) S 1 2\n", "77 (x) S a b c d e f g h i j k l m n o p q r s t\n"])
def test_a_stat_file_of_another_form_is_absent_with_a_reason(kernel: Kernel, text: str) -> None:
    kernel.proc("77/stat", text)
    sampler = ProcessSampler(77, kernel.paths)
    assert sampler.read() == []
    assert set(sampler.absent) >= {"process_threads", "process_cpu_usage_cpus"}


def test_the_share_of_shared_memory_is_read_where_the_kernel_tells(kernel: Kernel) -> None:
    sampler = ProportionalSampler(77, kernel.paths)
    assert sampler.read() == []
    assert "smaps_rollup" in sampler.absent["process_memory_proportional_bytes"]
    kernel.proc("77/smaps_rollup", "5581-7ffc ---p 00000000 00:00 0 [rollup]\nRss:  4096 kB\nPss:  1024 kB\n")
    assert values(sampler.read()) == {"process_memory_proportional_bytes": MIB}


def test_a_real_process_tells_its_threads_work_and_memory() -> None:
    code = "import threading, sys\nfor _ in range(3): threading.Thread(target=sys.stdin.read, daemon=True).start()\n"
    code += "print('up', flush=True)\nwhile True: pass"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        [sampler] = process_samplers(child.pid)
        first = values(sampler.read())
        found: dict[str, float] = {}

        def read() -> bool:
            found.update(values(sampler.read()))
            return found.get("process_cpu_usage_cpus", 0) > 0 and "process_memory_proportional_bytes" in found

        until(read, "rates and what takes long are read")
        assert first["process_threads"] == 4
        assert found["process_page_faults_per_second"] >= 0
        assert 0 < found["process_memory_proportional_bytes"] <= first["process_memory_peak_bytes"] * 1.5
    finally:
        child.kill()
        child.communicate()


@pytest.fixture
def group() -> Iterator[Path]:
    """A cgroup with a quota of a fifth of a CPU."""
    with cgroups.group("cpu", cgroups.QUOTA, {}) as folder:
        yield folder


STARVED = """
import os, sys, threading
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
import roundwatch
run = roundwatch.init("p", worker="w")
stop = Path(sys.argv[2])
def work():
    while not stop.exists():
        sum(range(10_000))
with run.round(0), run.phase("encode"):
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def test_a_quota_below_the_threads_shows_as_throttled_time_during_the_phase(
    group: Path, site: Site, collector: Collector, tmp_path: Path
) -> None:
    stop = tmp_path / "stop"
    site.shipper()
    training = site.python(STARVED, str(group), str(stop))

    def of(metric: str) -> list[dict[str, float]]:
        return [row for row in collector.worker().of("sample") if row["metric"]["name"] == metric]

    until(lambda: collector.workers() and len(of("cgroup_cpu_throttled_ratio")) > 0, "throttling is told", 40)
    stop.touch()
    until(lambda: collector.worker().phases("encode"), "the phase has ended", 40)
    training.wait(20)
    [phase] = collector.worker().phases("encode")
    end = phase["begin_ns"] + phase["duration_ns"]
    within = [row for row in of("cgroup_cpu_throttled_ratio") if phase["begin_ns"] <= row["time_ns"] <= end]
    assert max(row["value"] for row in within) > 0.5
    seconds = [row["value"] for row in of("cgroup_cpu_throttled_seconds_total")]
    assert seconds[-1] > seconds[0]
    assert {row["value"] for row in of("cgroup_cpu_quota_cpus")} == {0.2}
    assert max(row["value"] for row in of("process_threads")) >= 3
    assert {row["metric"]["source"] for row in of("cgroup_cpu_quota_cpus")} == {"process"}
