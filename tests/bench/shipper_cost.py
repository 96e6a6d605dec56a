"""What the host agent takes of its host: CPU and memory of the shipper with its samplers, printed.

Run as `python -m tests.bench shipper_cost [--seconds N] [--period S]`. `roundwatch agent` serves eight workers that
together record 200 records a second, and sends to a server in another process; its samplers read this machine once a
second, and eight devices that a library built here answers for: what a real driver takes to answer is not in it. CPU is
user and system time of the agent's process.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.agents.fakes import nvml
from tests.bench.doors import UP, doors
from tests.bench.host import REPOSITORY, Host, host, shipper_of
from tests.bench.table import Row, conditions, show

WORKERS, RECORDS = 8, 200
WARM_S = 10
MIB = 1 << 20


def cpu_s(pid: int) -> float:
    """Seconds of user and system time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> dict[str, float]:
    """Resident memory in MiB by its sort: VmRSS all, VmHWM at most, RssAnon its own, RssShmem the rings it reads."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 / MIB for words in lines if words[-1] == "kB"}


def devices(place: Host, folder: Path) -> None:
    """Has the host's processes find NVIDIA's library with eight devices."""
    nvml.build(folder)
    place.environment |= {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML": "1"}


def told_per_second(place: Host, seconds: float) -> float:
    """How many readings are told a second of the host, its devices and eight processes, by samplers alone."""
    command = [sys.executable, "-m", "tests.bench.sampling", "--workers", str(WORKERS), "--seconds", str(seconds)]
    return float(subprocess.check_output(command, env=place.environment, cwd=REPOSITORY))


def measure(place: Host, seconds: float) -> tuple[float, dict[str, float]]:
    """Share of a core over so many seconds, and memory at their end, of the agent beside its workers."""
    agent = subprocess.Popen([sys.executable, "-m", "roundwatch", "agent"], env=place.environment, cwd=REPOSITORY)
    pid = shipper_of(place.destination)
    options = ["--workers", str(WORKERS), "--records", str(RECORDS)]
    workers = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.writing", *options],
        env=place.environment,
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
    )
    try:
        time.sleep(WARM_S)
        before, began = cpu_s(pid), time.monotonic()
        time.sleep(seconds)
        return (cpu_s(pid) - before) / (time.monotonic() - began), memory(pid)
    finally:
        workers.communicate(timeout=30)
        agent.send_signal(signal.SIGTERM)
        agent.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--period", type=float, default=1, help="seconds between two readings")
    options = parser.parse_args()
    with doors() as urls, host(urls[UP]) as place, tempfile.TemporaryDirectory() as folder:
        place.environment["ROUNDWATCH_SAMPLE_S"] = str(options.period)
        devices(place, Path(folder))
        conditions(
            "shipper_cost",
            f"{WORKERS} workers, {RECORDS} records a second together",
            f"8 devices each {options.period:g} s",
            f"{options.seconds:g} s",
        )
        share, resident = measure(place, options.seconds)
        told = told_per_second(place, min(options.seconds, 30))
    show(
        [
            Row(name="CPU of shipper and samplers", ours=100 * share, unit="% of a core", most=1),
            Row(name="readings told of host, devices and workers", ours=told, unit="a second", most=200),
            Row(name="resident memory at the most", ours=resident["VmHWM"], unit="MiB", most=60),
            Row(name="    of it its own", ours=resident["RssAnon"], unit="MiB"),
            Row(name="    of it rings that it shares with the workers", ours=resident["RssShmem"], unit="MiB"),
        ]
    )


if __name__ == "__main__":
    main()
