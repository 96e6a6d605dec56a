"""What a host and its processes say of themselves: CPU, memory, limits, network. Missing is absent, never
zero.

Each module documents its metrics: name, unit, and the Prometheus (node-exporter, cAdvisor) metric it
corresponds to.
"""

from roundwatch.samplers.base import Paths, Sampler
from roundwatch.samplers.cgroup import CgroupSampler
from roundwatch.samplers.host import HostSampler
from roundwatch.samplers.memory import HostMemorySampler, ProcessMemorySampler
from roundwatch.samplers.network import NetworkSampler


def host_samplers(paths: Paths | None = None) -> list[Sampler]:
    """What is sampled of the host on which this process runs, and of the cgroup that holds this process."""
    where = paths or Paths()
    return [HostSampler(where), HostMemorySampler(where), CgroupSampler(where), NetworkSampler(where)]


def process_samplers(pid: int, paths: Paths | None = None) -> list[Sampler]:
    """What is sampled of another process from outside:

    Its memory, and its own cgroup, quota and throttling.
    """
    where = paths or Paths()
    return [ProcessMemorySampler(pid, where), CgroupSampler(where, pid, source="process")]
