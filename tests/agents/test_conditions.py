"""The facts that decide whether runs may be compared: what is recorded, what is not, and that nothing secret is."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roundwatch import conditions
from tests.agents.fakes.kernel import Kernel


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    kernel = Kernel(tmp_path)
    kernel.proc("meminfo", "MemTotal: 8192 kB\n")
    kernel.proc("cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\n")
    kernel.process("self", cpus="0-31")
    kernel.proc("self/cgroup", "0::/\n")
    kernel.mounts("/ /sys/fs/cgroup cgroup2 rw")
    kernel.sys("fs/cgroup/cpu.max", "600000 100000\n")
    kernel.sys("fs/cgroup/memory.max", "1048576\n")
    kernel.proc("driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan\nGCC 12\n")
    for bus in ("0000:1a:00.0", "0000:1b:00.0"):
        kernel.proc(f"driver/nvidia/gpus/{bus}/information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 9\n")
    return kernel


def of(kernel: Kernel, environment: dict[str, str] | None = None, **modules: Any) -> dict[str, Any]:
    return conditions.found(kernel.paths, environment or {}, modules)


def of_attempt(environment: dict[str, str] | None = None, **modules: Any) -> dict[str, Any]:
    return conditions.of_attempt(environment or {}, modules)


def test_hardware_limits_and_driver_are_told_without_asking_any_library(kernel: Kernel) -> None:
    found = of(kernel)
    assert found["cpu_model"] == "AMD EPYC 9654 96-Core Processor"
    assert found["devices"] == "2 x NVIDIA H100 80GB HBM3"
    assert found["driver"] == "570.86.15"
    assert (found["visible_cpus"], found["cpu_quota_cpus"]) == (32, 6.0)
    assert (found["memory_bytes"], found["memory_limit_bytes"]) == (8192 * 1024, 1 << 20)
    assert set(found["topology"]) == {"gpu0", "gpu1"}
    assert found["cpus"] == os.cpu_count()


def test_versions_are_those_of_what_the_training_has_loaded(kernel: Kernel) -> None:
    torch = SimpleNamespace(__version__="2.9.1+cu128", version=SimpleNamespace(cuda="12.8", hip=None))
    nccl = SimpleNamespace(version=lambda: (2, 27, 5))
    found = of(kernel, **{"torch": torch, "torch.cuda.nccl": nccl, "transformers": SimpleNamespace(__version__="5.0")})
    told = {name: found[name] for name in ("torch", "cuda", "nccl", "transformers")}
    assert told == {"torch": "2.9.1+cu128", "cuda": "12.8", "nccl": "2.27.5", "transformers": "5.0"}
    assert "rocm" not in found
    assert not of(kernel).keys() & {"torch", "cuda", "nccl"}


def test_only_named_settings_are_kept_and_none_that_could_be_a_path_or_a_secret(kernel: Kernel) -> None:
    environment = {
        "OMP_NUM_THREADS": "6",
        "NCCL_SOCKET_IFNAME": "^lo,docker0",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "NCCL_IB_HCA": "/home/someone/topology.xml",
        "NCCL_ALGO": "https://user:secret@host?token=1",
        "WANDB_API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "HOME": "/home/someone",
        "ROUNDWATCH_TOKEN": "secret",
    }
    found = of(kernel, environment)
    assert found["environment"] == {
        "OMP_NUM_THREADS": "6",
        "NCCL_SOCKET_IFNAME": "^lo,docker0",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    }
    text = json.dumps(found)
    assert "secret" not in text
    assert "someone" not in text


def test_the_same_run_in_other_trackers_is_told_without_what_is_secret_in_an_address() -> None:
    wandb = SimpleNamespace(run=SimpleNamespace(url="https://me:pw@wandb.example/team/vit/runs/ab12?apiKey=secret"))
    info = SimpleNamespace(experiment_id="7", run_id="f00")
    mlflow = SimpleNamespace(
        active_run=lambda: SimpleNamespace(info=info), get_tracking_uri=lambda: "http://me:pw@mlflow.example:5000"
    )
    found = of_attempt(wandb=wandb, mlflow=mlflow)
    assert found["wandb"] == "https://wandb.example/team/vit/runs/ab12"
    assert found["mlflow"] == "http://mlflow.example:5000/#/experiments/7/runs/f00"
    idle = of_attempt(wandb=SimpleNamespace(run=None), mlflow=SimpleNamespace(active_run=lambda: None))
    assert not idle.keys() & {"wandb", "mlflow"}
    offline = SimpleNamespace(active_run=mlflow.active_run, get_tracking_uri=lambda: "file:///home/someone/mlruns")
    assert of_attempt(mlflow=offline)["mlflow"] == "f00"


def test_a_module_that_misbehaves_costs_its_own_facts_only(kernel: Kernel) -> None:
    class Hostile:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    found = of(kernel, torch=Hostile())
    assert found["devices"] == "2 x NVIDIA H100 80GB HBM3"
    assert "torch" not in found
    started = {"SLURM_JOB_START_TIME": "1764460800"}
    assert set(of_attempt(started, wandb=Hostile())) == {"job_start_unix_s"}


def test_on_a_system_that_shows_nothing_what_python_knows_is_left(tmp_path: Path) -> None:
    assert set(of(Kernel(tmp_path))) == {"python", "kernel", "architecture", "cpus"}


def test_when_slurm_started_the_job_is_kept_but_is_no_condition(kernel: Kernel) -> None:
    started = {"SLURM_JOB_START_TIME": "1764460800"}
    assert of_attempt(started) == {"job_start_unix_s": 1764460800}
    assert of_attempt({"SLURM_JOB_START_TIME": "soon"}) == {}
    assert of(kernel, started) == of(kernel)
