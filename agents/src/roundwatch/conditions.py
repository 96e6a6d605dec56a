"""The facts that decide whether two runs may be compared: hardware, limits, versions, and settings of an allow-list;

and beside them what is so of one attempt alone.

Recorded once, when an attempt begins. Nothing is imported or asked of a driver for it, and nothing secret is kept: no
arguments, no paths, no setting that is not named here.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from roundwatch import job_times, wire
from roundwatch.samplers import topology
from roundwatch.samplers.base import Paths, fields
from roundwatch.samplers.cgroup import LIMIT, QUOTA, CgroupSampler

Facts = dict[str, Any]
# Settings that change how fast a training is; a value that could be a path is left out all the same.
SETTINGS = frozenset(
    """
    CUBLAS_WORKSPACE_CONFIG CUDA_DEVICE_MAX_CONNECTIONS CUDA_DEVICE_ORDER CUDA_LAUNCH_BLOCKING CUDA_VISIBLE_DEVICES
    GLOO_SOCKET_IFNAME GOMP_CPU_AFFINITY HIP_VISIBLE_DEVICES HSA_ENABLE_SDMA KMP_AFFINITY MALLOC_ARENA_MAX
    MKL_NUM_THREADS NCCL_ALGO NCCL_BUFFSIZE NCCL_CROSS_NIC NCCL_CUMEM_ENABLE NCCL_DEBUG NCCL_IB_DISABLE NCCL_IB_HCA
    NCCL_IB_QPS_PER_CONNECTION NCCL_IB_TIMEOUT NCCL_MAX_NCHANNELS NCCL_MIN_NCHANNELS NCCL_NET_GDR_LEVEL
    NCCL_NSOCKS_PERTHREAD NCCL_NTHREADS NCCL_NVLS_ENABLE NCCL_P2P_DISABLE NCCL_P2P_LEVEL NCCL_PROTO NCCL_SHM_DISABLE
    NCCL_SOCKET_IFNAME NCCL_SOCKET_NTHREADS NUMEXPR_NUM_THREADS NVIDIA_TF32_OVERRIDE NVIDIA_VISIBLE_DEVICES
    OMP_NUM_THREADS OMP_PROC_BIND OPENBLAS_NUM_THREADS PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF RCCL_MSCCL_ENABLE
    ROCR_VISIBLE_DEVICES TOKENIZERS_PARALLELISM TORCH_DISTRIBUTED_DEBUG TORCH_NCCL_ASYNC_ERROR_HANDLING
    TORCH_NCCL_BLOCKING_WAIT
    """.split()  # noqa: SIM905 - one name a line would fill a page
)
PACKAGES = (
    "torch",
    "transformers",
    "accelerate",
    "lightning",
    "pytorch_lightning",
    "torchtitan",
    "flwr",
    "jax",
    "tensorflow",
)
PLAIN = re.compile(r"[\w.,:;=+\-^ ]*", re.ASCII)


def found(
    paths: Paths | None = None,
    environment: Mapping[str, str] = os.environ,
    modules: Mapping[str, Any] = sys.modules,
) -> Facts:
    """Everything that could be had, as JSON objects can hold it. Never raises: what fails is left out."""
    where = paths or Paths()
    parts: tuple[Callable[[], Facts], ...] = (
        _system,
        lambda: _processor(where),
        lambda: _limits(where),
        lambda: _devices(where),
        lambda: _versions(modules),
        lambda: _backends(modules),
        lambda: _settings(environment),
    )
    return _all(parts)


def of_attempt(
    environment: Mapping[str, str] = os.environ,
    modules: Mapping[str, Any] = sys.modules,
    paths: Paths | None = None,
) -> Facts:
    """What is so of this attempt alone and decides nothing: when its job was submitted and when it started, under whose
    account, where else its run is recorded.

    Never raises: what fails is left out.
    """
    where = paths or Paths()
    return _all((lambda: job_times.found(environment, where), lambda: _person(environment), lambda: _tracked(modules)))


def _all(parts: Iterable[Callable[[], Facts]]) -> Facts:
    facts: Facts = {}
    for part in parts:
        try:
            facts |= {name: value for name, value in part().items() if value not in (None, "", {})}
        except Exception:  # noqa: BLE001, S112 - a foreign module may raise anything; a fact less is no harm
            continue
    return facts


def _system() -> Facts:
    system = os.uname()
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "kernel": f"{system.sysname} {system.release}",
        "architecture": system.machine,
        "cpus": os.cpu_count(),
    }


def _processor(paths: Paths) -> Facts:
    memory = fields((paths.proc / "meminfo").read_text())
    with (paths.proc / "cpuinfo").open(errors="replace") as lines:
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
    return {"memory_bytes": memory.get("MemTotal"), "cpu_model": model and wire.cleaned(model)}


def _limits(paths: Paths) -> Facts:
    read = {reading.metric: reading.value for reading in CgroupSampler(paths).read()}
    return {
        "visible_cpus": read.get("visible_cpus"),
        "cpu_quota_cpus": read.get(QUOTA),
        "memory_limit_bytes": read.get(LIMIT),
    }


def _devices(paths: Paths) -> Facts:
    models = Counter(part.model for part in topology.devices(paths))
    driver = paths.proc / "driver" / "nvidia" / "version"
    version = re.search(r"\b\d+\.\d+(?:\.\d+)?\b", driver.read_text()) if driver.exists() else None
    return {
        "devices": wire.cleaned(", ".join(f"{count} x {model}" for model, count in sorted(models.items()))),
        "driver": version[0] if version else _amd_driver(paths),
        "topology": topology.table(paths),
    }


def _amd_driver(paths: Paths) -> str | None:
    """The version of AMD's own driver; the kernel's has none."""
    try:
        return wire.cleaned((paths.sys / "module" / "amdgpu" / "version").read_text().strip())
    except OSError:
        return None


def _versions(modules: Mapping[str, Any]) -> Facts:
    """Of the packages that the training has loaded so far."""
    told = {name: getattr(modules.get(name), "__version__", None) for name in PACKAGES}
    return {name: wire.cleaned(str(version)) for name, version in told.items() if version is not None}


def _backends(modules: Mapping[str, Any]) -> Facts:
    """What the loaded torch was built for. Nothing here starts CUDA."""
    torch = modules.get("torch")
    if torch is None:
        return {}
    facts: Facts = {"cuda": torch.version.cuda, "rocm": torch.version.hip}
    nccl = modules.get("torch.cuda.nccl")
    if nccl is not None and (torch.version.cuda or torch.version.hip):
        facts["nccl"] = ".".join(map(str, nccl.version()))
    return facts


def _person(environment: Mapping[str, str]) -> Facts:
    """Whose run it is; root is everybody in a container."""
    names = (environment.get(name, "") for name in ("SLURM_JOB_USER", "USER", "LOGNAME"))
    return {"user": wire.cleaned(next((name for name in names if name not in ("", "root")), ""))}


def _settings(environment: Mapping[str, str]) -> Facts:
    named = {name: environment[name] for name in sorted(SETTINGS & environment.keys())}
    return {"environment": {name: wire.cleaned(value) for name, value in named.items() if PLAIN.fullmatch(value)}}


def _tracked(modules: Mapping[str, Any]) -> Facts:
    """Where the same run is in a tracker that the training has already begun it in."""
    return {"wandb": _wandb(modules.get("wandb")), "mlflow": _mlflow(modules.get("mlflow"))}


def _wandb(wandb: Any) -> str | None:
    run = getattr(wandb, "run", None)
    return _address(getattr(run, "url", None))


def _mlflow(mlflow: Any) -> str | None:
    run = mlflow.active_run() if mlflow is not None and hasattr(mlflow, "active_run") else None
    if run is None:
        return None
    where = _address(mlflow.get_tracking_uri())
    path = f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
    return f"{where.rstrip('/')}/{path}" if where else str(run.info.run_id)


def _address(url: Any) -> str | None:
    """A web address without what may be secret in it: name, password and query; None for anything else."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    port = f":{parts.port}" if parts.port else ""
    return wire.cleaned(f"{parts.scheme}://{parts.hostname}{port}{parts.path}", 500)
