"""What a host, its devices and its processes say of themselves. Missing is absent, never zero.

One module for each sampler; README.md lists the metrics: name, unit, and what the same is called elsewhere. A new
sampler is one file, and one line below.
"""

from roundwatch.samplers import dcgm
from roundwatch.samplers.amd import AmdSampler
from roundwatch.samplers.base import Paths, Sampler
from roundwatch.samplers.cgroup import CgroupSampler
from roundwatch.samplers.disk import DiskSampler
from roundwatch.samplers.groups import GROUPS
from roundwatch.samplers.host import HostSampler
from roundwatch.samplers.infiniband import InfinibandSampler
from roundwatch.samplers.memory import HostMemorySampler, ProcessMemorySampler
from roundwatch.samplers.network import NetworkSampler
from roundwatch.samplers.nvidia import NVML
from roundwatch.samplers.nvidia_devices import NvidiaSampler
from roundwatch.samplers.nvidia_links import NvidiaLinkSampler
from roundwatch.samplers.nvidia_processes import HOLDINGS, NvidiaProcessSampler, ProcessDeviceSampler
from roundwatch.samplers.pressure import PressureSampler
from roundwatch.samplers.process import ProcessSampler, ProportionalSampler
from roundwatch.samplers.together import Seldom, Together

PROPORTIONAL_S = 30.0


def host_samplers(paths: Paths | None = None) -> list[Sampler]:
    """What is sampled of the host on which this process runs, and of the cgroup that holds this process."""
    return [sampler for together in _host(paths or Paths()) for sampler in together]


def host_threads(paths: Paths | None = None) -> list[Together]:
    """The same, those that ask one place as one: for each of these a thread is worth what it costs.

    The kernel's own files do not hang; a driver or an exporter may, and then all that ask it.
    """
    return [Together(together, steadied=False) for together in _host(paths or Paths())]


def _host(where: Paths) -> list[list[Sampler]]:
    """By the place that is asked: the kernel, NVIDIA's driver, its links (20 ms each on old devices), its exporter,
    AMD's driver.
    """
    return [
        [
            HostSampler(where),
            HostMemorySampler(where),
            PressureSampler(where),
            CgroupSampler(where),
            DiskSampler(where),
            NetworkSampler(where),
            InfinibandSampler(where),
        ],
        [NvidiaSampler(NVML), NvidiaProcessSampler(NVML, HOLDINGS)],
        [NvidiaLinkSampler(NVML)],
        [dcgm.DcgmSampler(dcgm.place(paths=where))],
        [AmdSampler(where)],
    ]


def process_samplers(pid: int, paths: Paths | None = None) -> list[Sampler]:
    """What is sampled of another process from outside, as one sampler that never raises:

    Its memory, work and devices, and its own cgroup, quota and throttling.
    """
    where = paths or Paths()
    return [
        Together(
            [
                ProcessMemorySampler(pid, where),
                ProcessSampler(pid, where),
                CgroupSampler(where, pid, source="process", groups=GROUPS),
                ProcessDeviceSampler(pid, HOLDINGS, where),
                Seldom(ProportionalSampler(pid, where), PROPORTIONAL_S),
            ]
        )
    ]
