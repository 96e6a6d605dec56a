"""Limits of cgroups, version 1 and 2, in containers and on hosts, and throttling under them."""

from pathlib import Path

import pytest

from roundwatch.samplers.cgroup import CgroupSampler
from roundwatch.samplers.cpulist import cpus
from roundwatch.samplers.groups import Groups
from tests.agents.fakes.kernel import MIB, Kernel, values

V2 = "/sys/fs/cgroup"
GONE_WITHOUT_LIMITS = {
    "cgroup_memory_limit_bytes",
    "cgroup_cpu_quota_cpus",
    "cgroup_cpu_throttled_ratio",
    "cgroup_cpu_throttled_seconds_total",
    "cgroup_cpu_periods_total",
    "cgroup_cpu_throttled_periods_total",
}


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    made = Kernel(tmp_path)
    made.process("self", cpus="0-31")
    return made


def version_2(kernel: Kernel, group: str, *, limit: str = "max", cpu: str = "max 100000", throttled: int = 0) -> None:
    """One group of version 2 with 100 MiB anonymous, 10 MiB shared, 300 MiB charged."""
    folder = f"fs/cgroup/{group}".rstrip("/")
    kernel.sys(f"{folder}/memory.stat", f"anon {100 * MIB}\nfile {190 * MIB}\nshmem {10 * MIB}\n")
    kernel.sys(f"{folder}/memory.current", f"{300 * MIB}\n")
    kernel.sys(f"{folder}/memory.max", f"{limit}\n")
    kernel.sys(f"{folder}/cpu.max", f"{cpu}\n")
    kernel.sys(
        f"{folder}/cpu.stat", f"usage_usec 5\nnr_periods 100\nnr_throttled {throttled}\nthrottled_usec 2500000\n"
    )
    kernel.sys(f"{folder}/memory.events", "low 0\nhigh 4\nmax 9\noom 3\noom_kill 2\n")
    kernel.sys(f"{folder}/cpuset.cpus.effective", "0-7\n")
    pressures(kernel, folder, waited_us=0)


def pressures(kernel: Kernel, folder: str, *, waited_us: int) -> None:
    text = "{0} avg10=0.00 avg60=0.00 avg300=0.00 total={1}\n"
    for resource in ("cpu", "memory", "io"):
        kernel.sys(f"{folder}/{resource}.pressure", text.format("some", waited_us) + text.format("full", 7))


def version_1(kernel: Kernel, group: str, *, limit: int = 9223372036854771712, quota: int = -1) -> None:
    """One group of version 1, the same sizes."""
    memory, cpu = f"fs/cgroup/memory/{group}".rstrip("/"), f"fs/cgroup/cpu,cpuacct/{group}".rstrip("/")
    kernel.sys(f"{memory}/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    kernel.sys(f"{memory}/memory.failcnt", "3\n")
    kernel.sys(f"{cpu}/cpuacct.usage", "5000\n")
    kernel.sys(f"{memory}/memory.stat", f"rss 1\ntotal_rss {100 * MIB}\ntotal_shmem {10 * MIB}\ntotal_cache 7\n")
    kernel.sys(f"{memory}/memory.usage_in_bytes", f"{300 * MIB}\n")
    kernel.sys(f"{memory}/memory.limit_in_bytes", f"{limit}\n")
    kernel.sys(f"{cpu}/cpu.cfs_quota_us", f"{quota}\n")
    kernel.sys(f"{cpu}/cpu.cfs_period_us", "100000\n")
    kernel.sys(f"{cpu}/cpu.stat", "nr_periods 100\nnr_throttled 40\nthrottled_time 2500000000\n")


def test_a_limited_container_of_version_2(kernel: Kernel) -> None:
    kernel.proc("self/cgroup", "0::/\n")
    kernel.mounts(f"/ {V2} cgroup2 nsdelegate")
    version_2(kernel, "", limit=str(512 * MIB), cpu="600000 100000", throttled=40)
    sampler = CgroupSampler(kernel.paths)
    assert values(sampler.read()) == {
        "cgroup_memory_bytes": 110 * MIB,
        "cgroup_memory_shared_bytes": 10 * MIB,
        "cgroup_memory_cache_bytes": 190 * MIB,
        "cgroup_memory_current_bytes": 300 * MIB,
        "cgroup_memory_limit_bytes": 512 * MIB,
        "cgroup_oom_kills_total": 2,
        "cgroup_memory_limit_hits_total": 3,
        "cgroup_cpu_quota_cpus": 6.0,
        "cgroup_cpu_throttled_seconds_total": 2.5,
        "cgroup_cpu_periods_total": 100,
        "cgroup_cpu_throttled_periods_total": 40,
        "visible_cpus": 32,
        "cgroup_cpuset_cpus": 8,
    }
    needs_two = {name for name in sampler.absent if "needs two readings" in sampler.absent[name]}
    assert needs_two == set(sampler.absent)
    assert {"cgroup_cpu_throttled_ratio", "cgroup_cpu_usage_cpus", "cgroup_pressure_io_stalled_ratio"} <= needs_two


def test_a_limited_container_of_version_1(kernel: Kernel) -> None:
    kernel.proc("self/cgroup", "9:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n")
    kernel.mounts(
        "/docker/abc /sys/fs/cgroup/memory cgroup memory",
        "/docker/abc /sys/fs/cgroup/cpu,cpuacct cgroup cpu,cpuacct",
        "/ /sys/fs/cgroup/unified cgroup2 nsdelegate",
    )
    version_1(kernel, "", limit=512 * MIB, quota=600_000)
    found = values(CgroupSampler(kernel.paths).read())
    assert found["cgroup_memory_bytes"] == 110 * MIB
    assert found["cgroup_memory_limit_bytes"] == 512 * MIB
    assert (found["cgroup_oom_kills_total"], found["cgroup_memory_limit_hits_total"]) == (2, 3)
    assert found["cgroup_cpu_quota_cpus"] == 6.0
    assert found["cgroup_cpu_throttled_seconds_total"] == 2.5


@pytest.mark.parametrize("version", [1, 2])
def test_without_limits_use_is_told_and_limits_are_absent(kernel: Kernel, version: int) -> None:
    if version == 2:
        kernel.proc("self/cgroup", "0::/user.slice\n")
        kernel.mounts(f"/ {V2} cgroup2 rw")
        version_2(kernel, "user.slice")
    else:
        kernel.proc("self/cgroup", "9:memory:/\n4:cpu,cpuacct:/\n")
        kernel.mounts("/ /sys/fs/cgroup/memory cgroup memory", "/ /sys/fs/cgroup/cpu,cpuacct cgroup cpu,cpuacct")
        version_1(kernel, "")
    sampler = CgroupSampler(kernel.paths)
    found = values(sampler.read())
    assert found["cgroup_memory_bytes"] == 110 * MIB
    assert found.keys().isdisjoint(GONE_WITHOUT_LIMITS)
    assert {name for name in sampler.absent if "is set" in sampler.absent[name]} == GONE_WITHOUT_LIMITS


@pytest.mark.parametrize("accounting", ["cpu,cpuacct", "cpuacct"])
def test_cpu_time_used_is_read_where_version_1_counts_it(kernel: Kernel, accounting: str) -> None:
    seconds = [10.0]
    kernel.proc("self/cgroup", "4:cpu,cpuacct:/\n" if "," in accounting else "4:cpu:/\n3:cpuacct:/\n")
    names = {"cpu,cpuacct"} if "," in accounting else {"cpu", "cpuacct"}
    kernel.mounts(*(f"/ /sys/fs/cgroup/{name} cgroup {name}" for name in sorted(names)))
    kernel.sys("fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    sampler = CgroupSampler(kernel.paths, clock=lambda: seconds[0])
    for nanoseconds in (5000, 3_000_005_000):
        kernel.sys(f"fs/cgroup/{accounting}/cpuacct.usage", f"{nanoseconds}\n")
        found = values(sampler.read())
        seconds[0] += 2.0
    assert found["cgroup_cpu_usage_cpus"] == pytest.approx(1.5)


@pytest.mark.parametrize("quota", ["max 100000", "150000 100000"])
def test_cpu_time_used_is_told_with_a_quota_and_without(kernel: Kernel, quota: str) -> None:
    seconds = [10.0]
    kernel.proc("self/cgroup", "0::/\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "", cpu=quota)
    sampler = CgroupSampler(kernel.paths, clock=lambda: seconds[0])
    sampler.read()
    kernel.sys("fs/cgroup/cpu.stat", "usage_usec 3000005\n")
    seconds[0] = 12.0
    assert values(sampler.read())["cgroup_cpu_usage_cpus"] == pytest.approx(1.5)


def test_pressure_is_the_share_of_the_time_in_which_tasks_waited(kernel: Kernel) -> None:
    seconds = [10.0]
    kernel.proc("self/cgroup", "0::/\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "")
    sampler = CgroupSampler(kernel.paths, clock=lambda: seconds[0])
    sampler.read()
    pressures(kernel, "fs/cgroup", waited_us=500_000)
    seconds[0] = 12.0
    found = {name: value for name, value in values(sampler.read()).items() if "pressure" in name}
    assert found == {
        "cgroup_pressure_cpu_waiting_ratio": 0.25,
        "cgroup_pressure_memory_waiting_ratio": 0.25,
        "cgroup_pressure_memory_stalled_ratio": 0.0,
        "cgroup_pressure_io_waiting_ratio": 0.25,
        "cgroup_pressure_io_stalled_ratio": 0.0,
    }


def test_a_quota_that_is_lowered_shows_at_once(kernel: Kernel) -> None:
    kernel.proc("self/cgroup", "0::/\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "", cpu="600000 100000")
    sampler = CgroupSampler(kernel.paths)
    assert values(sampler.read())["cgroup_cpu_quota_cpus"] == 6.0
    kernel.sys("fs/cgroup/cpu.max", "50000 100000\n")
    assert values(sampler.read())["cgroup_cpu_quota_cpus"] == 0.5


def test_the_tightest_limit_above_the_process_decides(kernel: Kernel) -> None:
    kernel.proc("self/cgroup", "0::/pod/container\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    kernel.sys("fs/cgroup/cgroup.procs", "")
    version_2(kernel, "pod", limit=str(400 * MIB), cpu="200000 100000")
    version_2(kernel, "pod/container", limit=str(900 * MIB), cpu="max 100000")
    kernel.sys("fs/cgroup/pod/memory.stat", f"anon {200 * MIB}\nshmem 0\n")
    found = values(CgroupSampler(kernel.paths).read())
    assert found["cgroup_memory_limit_bytes"] == 400 * MIB
    assert found["cgroup_memory_bytes"] == 200 * MIB, "what counts against that limit"
    assert found["cgroup_cpu_quota_cpus"] == 2.0


def test_throttling_is_the_share_of_periods_between_readings(kernel: Kernel) -> None:
    kernel.proc("self/cgroup", "0::/\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "", cpu="50000 100000")
    sampler = CgroupSampler(kernel.paths)
    sampler.read()
    kernel.sys("fs/cgroup/cpu.stat", "nr_periods 120\nnr_throttled 15\nthrottled_usec 4000000\n")
    found = values(sampler.read())
    assert found["cgroup_cpu_throttled_ratio"] == 0.75
    assert found["cgroup_cpu_throttled_seconds_total"] == 4.0


def test_what_a_quota_did_that_is_set_for_less_than_two_readings_is_told(kernel: Kernel) -> None:
    def read(cpu: str, periods: int, throttled: int) -> dict[str, float]:
        kernel.sys("fs/cgroup/cpu.max", f"{cpu}\n")
        kernel.sys(
            "fs/cgroup/cpu.stat", f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {throttled}00000\n"
        )
        return values(sampler.read())

    kernel.proc("self/cgroup", "0::/\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "")
    sampler = CgroupSampler(kernel.paths)
    ratio = "cgroup_cpu_throttled_ratio"
    assert ratio not in read("max 100000", 100, 40)
    assert read("10000 100000", 110, 50)[ratio] == 1.0  # set since the reading before
    assert read("max 100000", 120, 55)[ratio] == 0.5  # and lifted again
    assert ratio not in sampler.absent
    assert ratio not in read("max 100000", 120, 55)
    assert sampler.absent[ratio] == "no quota is set"


def test_a_process_that_moved_to_another_group_is_not_compared_with_the_old_one(kernel: Kernel) -> None:
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "before", cpu="50000 100000")
    version_2(kernel, "after", cpu="70000 100000", throttled=90)
    kernel.proc("self/cgroup", "0::/before\n")
    sampler = CgroupSampler(kernel.paths)
    sampler.read()
    kernel.proc("self/cgroup", "0::/after\n")
    found = values(sampler.read())
    assert found["cgroup_cpu_quota_cpus"] == 0.7
    assert "cgroup_cpu_throttled_ratio" not in found


def test_another_process_has_its_own_group_and_its_source_says_so(kernel: Kernel) -> None:
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "training", cpu="50000 100000")
    kernel.proc("self/cgroup", "0::/\n")
    kernel.proc("77/cgroup", "0::/training\n")
    kernel.process(77, cpus="0,2-3")
    readings = CgroupSampler(kernel.paths, 77, source="process").read()
    assert values(readings)["cgroup_cpu_quota_cpus"] == 0.5
    assert values(readings)["visible_cpus"] == 3
    assert {reading.source for reading in readings} == {"process"}


def test_a_stat_file_without_its_lines_is_absent_with_a_reason(kernel: Kernel) -> None:
    kernel.proc("self/cgroup", "0::/\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "", cpu="50000 100000")
    kernel.sys("fs/cgroup/memory.stat", "file 5\n")
    kernel.sys("fs/cgroup/cpu.stat", "usage_usec 5\n")
    sampler = CgroupSampler(kernel.paths)
    found = values(sampler.read())
    assert found["cgroup_cpu_quota_cpus"] == 0.5
    assert not [name for name in found if "throttled" in name or name.endswith("memory_bytes")]
    assert "anon" in sampler.absent["cgroup_memory_bytes"]
    assert "throttled_usec" in sampler.absent["cgroup_cpu_throttled_ratio"]


def test_a_group_beside_that_of_our_container_is_absent_and_not_taken_for_ours(kernel: Kernel) -> None:
    kernel.proc("77/cgroup", "0::/../another\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "", limit=str(512 * MIB), cpu="50000 100000")
    sampler = CgroupSampler(kernel.paths, 77)
    assert not [reading.metric for reading in sampler.read() if reading.metric.startswith("cgroup")]
    assert "no cgroup" in sampler.absent["cgroup_cpu_quota_cpus"]


@pytest.mark.parametrize("group", ["/gone", "/"])
def test_a_group_that_cannot_be_seen_falls_back_to_the_mount(kernel: Kernel, group: str) -> None:
    kernel.proc("self/cgroup", f"0::{group}\n")
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "", limit=str(512 * MIB))
    assert values(CgroupSampler(kernel.paths).read())["cgroup_memory_limit_bytes"] == 512 * MIB


def test_cpu_lists_are_read() -> None:
    found = [cpus(text) for text in ("0", "0-3", "0-3,8", " 1,3,5-6\n", "")]
    assert found == [[0], [0, 1, 2, 3], [0, 1, 2, 3, 8], [1, 3, 5, 6], []]
    with pytest.raises(ValueError, match="invalid"):
        cpus("a-b")


def test_processes_of_one_group_have_it_read_once_and_told_to_each(kernel: Kernel) -> None:
    seconds = [10.0]
    kernel.mounts(f"/ {V2} cgroup2 rw")
    version_2(kernel, "training", cpu="50000 100000")
    for pid in ("77", "78"):
        kernel.proc(f"{pid}/cgroup", "0::/training\n")
        kernel.process(pid, cpus=f"0-{pid[1]}")

    def clock() -> float:
        return seconds[0]

    groups = Groups("process", clock)
    one, other = (CgroupSampler(kernel.paths, pid, "process", clock, groups) for pid in (77, 78))
    first, again = values(one.read()), values(other.read())
    assert (first.pop("visible_cpus"), again.pop("visible_cpus")) == (8, 9)
    assert first == again
    kernel.sys("fs/cgroup/training/cpu.stat", "usage_usec 5\nnr_periods 120\nnr_throttled 15\nthrottled_usec 1\n")
    assert "cgroup_cpu_throttled_ratio" not in values(other.read()), "as of a moment ago"
    seconds[0] += 2
    assert values(one.read())["cgroup_cpu_throttled_ratio"] == 0.75
    assert values(other.read())["cgroup_cpu_throttled_ratio"] == 0.75, "not the time since the other's reading"
    version_2(kernel, "elsewhere", cpu="70000 100000")
    kernel.proc("78/cgroup", "0::/elsewhere\n")
    seconds[0] += 2
    assert values(other.read())["cgroup_cpu_quota_cpus"] == 0.7
    assert values(one.read())["cgroup_cpu_quota_cpus"] == 0.5
