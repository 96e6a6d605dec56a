"""Limits, states, counts of faults and what seldom moves: told when they change, and else every eight seconds."""

import time
from collections.abc import Iterable

from roundwatch.samplers.base import Reading
from roundwatch.samplers.rates import EARLY_S, Clock

TELL_AGAIN_S = 8.0
# Whoever wants them beside a phase, however short, takes what was told in the twelve seconds before it.
STEADY = frozenset(
    {
        "host_cpus",
        "host_memory_total_bytes",
        "network_speed_bytes_per_second",
        "infiniband_link_down",
        "cgroup_memory_limit_bytes",
        "cgroup_oom_kills_total",
        "cgroup_memory_limit_hits_total",
        "cgroup_cpuset_cpus",
        "cgroup_cpu_quota_cpus",
        "visible_cpus",
        "cgroup_memory_shared_bytes",
        "cgroup_memory_cache_bytes",
        "process_threads",
        "process_memory_shared_bytes",
        "process_major_page_faults_per_second",
        "process_memory_peak_bytes",
        "gpu_memory_total_bytes",
        "gpu_memory_clock_hertz",
        "gpu_power_limit_watts",
        "gpu_reachable",
        "gpu_clocks_event_reasons",
        "gpu_throttled_by_power",
        "gpu_throttled_by_heat",
        "gpu_throttled_by_board",
        "gpu_ecc_corrected_errors_total",
        "gpu_ecc_uncorrected_errors_total",
        "gpu_pcie_link_generation",
        "gpu_pcie_link_width",
        "gpu_pcie_downgraded",
        "gpu_pcie_replays_total",
    }
)


class Steadied:
    """Passes readings on; a steady one that says nothing new is left out."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[tuple[str, str | None, str], tuple[float, float]] = {}

    def new(self, readings: Iterable[Reading]) -> list[Reading]:
        """The readings that are worth to be told."""
        now = self._clock()
        return [reading for reading in readings if reading.metric not in STEADY or self._is_new(reading, now)]

    def _is_new(self, reading: Reading, now: float) -> bool:
        key = reading.metric, reading.device, reading.source
        value, told_at = self._told.get(key, (None, 0.0))
        if value == reading.value and now - told_at < TELL_AGAIN_S - EARLY_S:
            return False
        self._told[key] = reading.value, now
        return True
