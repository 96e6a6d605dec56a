"""The facts that decide whether runs may be compared: what is recorded, what is not, and that nothing secret is."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roundwatch import conditions
from roundwatch.samplers.base import Paths
from tests.agents.collector import Collector, until
from tests.agents.conftest import Site
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


def of_attempt(environment: dict[str, str] | None = None, paths: Paths | None = None, **modules: Any) -> dict[str, Any]:
    return conditions.of_attempt(environment or {}, modules, paths)


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


def test_an_attempt_tells_whose_account_it_runs_under_and_that_of_root_is_nobodys() -> None:
    assert of_attempt({"USER": "mika"})["user"] == "mika"
    assert of_attempt({"SLURM_JOB_USER": "vera", "USER": "slurm"})["user"] == "vera"
    assert of_attempt({"USER": "root", "LOGNAME": "olga"})["user"] == "olga"
    assert "user" not in of_attempt({"USER": "root"})
    assert "user" not in conditions.found(environment={"USER": "mika"}, modules={})


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
    assert of_attempt({"ROUNDWATCH_JOB_SUBMITTED": "-1", "SLURM_JOB_START_TIME": "9" * 40}) == {}
    assert of(kernel, started) == of(kernel)


def test_how_long_a_job_waited_is_told_where_its_submission_is_known(kernel: Kernel) -> None:
    slurm = {"ROUNDWATCH_JOB_SUBMITTED": "1764460000", "SLURM_JOB_START_TIME": "1764460800"}
    told = {"job_submitted_unix_s": 1764460000, "job_start_unix_s": 1764460800, "job_waited_s": 800}
    assert of_attempt(slurm) == told
    assert "job_waited_s" not in of_attempt(slurm | {"ROUNDWATCH_JOB_SUBMITTED": "1764460900"}), "a clock is wrong"
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "ROUNDWATCH_JOB_SUBMITTED": "1764460000"}
    kernel.proc("stat", "cpu  1 2 3 4\nbtime 1764450000\n")
    kernel.proc("1/stat", f"1 (a) b) S 0 {'0 ' * 17} {10_800 * os.sysconf('SC_CLK_TCK')} 0\n")
    assert of_attempt(pod, kernel.paths) == told
    kernel.proc("1/stat", f"1 (init) S 0 {'0 ' * 17} 3 0\n")
    assert of_attempt(pod, kernel.paths) == {"job_submitted_unix_s": 1764460000}, "the host's first process is no job's"


SQUEUE = """#!/bin/sh
[ "$*" = "--noheader --jobs=4711 --format=%V" ] && [ "$SLURM_TIME_FORMAT" = %s ] && echo " {told}"
"""


@pytest.mark.parametrize(
    ("told", "changed", "submitted"),
    [
        ("1764460000", {}, "1764460000"),
        ("Unknown", {}, ""),
        ("1764460000", {"SLURM_PROCID": "1"}, ""),
        ("1764460000", {"ROUNDWATCH_JOB_SUBMITTED": "1764450000"}, "1764450000"),
    ],
)
def test_roundwatch_run_asks_slurm_once_when_its_job_was_submitted(
    tmp_path: Path, told: str, changed: dict[str, str], submitted: str
) -> None:
    (tmp_path / "squeue").write_text(SQUEUE.format(told=told))
    (tmp_path / "squeue").chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SLURM_JOB_ID": "4711",
        "ROUNDWATCH_MODE": "disabled",
    }
    ask = ["sh", "-c", 'echo "$ROUNDWATCH_JOB_SUBMITTED"']
    command = [sys.executable, "-m", "roundwatch", "run", "--", *ask]
    answer = subprocess.run(command, env=environment | changed, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == submitted


SECRET = "hunter2-7f3a"
SECRETIVE = """
import sys, types
import roundwatch
module = types.SimpleNamespace
sys.modules["wandb"] = module(run=module(url="https://me:{0}@wandb.example/team/runs/ab12?apiKey={0}#{0}"))
sys.modules["mlflow"] = module(
    active_run=lambda: module(info=module(experiment_id="7", run_id="f00")),
    get_tracking_uri=lambda: "databricks://{0}:{0}@/home/{0}",
)
run = roundwatch.init("p", worker="w")
with run.round(0):
    pass
"""


def test_nothing_secret_leaves_a_training_that_is_full_of_secrets(
    site: Site, collector: Collector, tmp_path: Path
) -> None:
    """In arguments, environment, paths and other packages' settings; what is kept is looked for as well."""
    folder = tmp_path / SECRET
    folder.mkdir()
    (folder / f"{SECRET}.py").write_text(SECRETIVE.replace("{0}", SECRET))
    allowed = sorted(conditions.SETTINGS)
    forms = [f"/home/{SECRET}/x", f"https://u:{SECRET}@host", f"token={SECRET}/", f"a;rm -rf ${SECRET}", f"{SECRET}\n"]
    site.environment |= {name: forms[number % len(forms)] for number, name in enumerate(allowed)}
    site.environment |= {
        f"{name}_{kind}": SECRET for name in ("AWS", "HF", "WANDB", "SLURM") for kind in ("TOKEN", "KEY")
    }
    site.environment |= {"OMP_NUM_THREADS": "1"}
    site.shipper()
    command = [sys.executable, str(folder / f"{SECRET}.py"), f"--api-key={SECRET}", SECRET]
    subprocess.run(command, env=site.environment, cwd=folder, check=True, timeout=30)
    begun = collector.worker
    until(lambda: "finish" in begun().turns(), "the end has arrived")
    with collector.lock:
        sent = json.dumps(collector.requests)
    assert SECRET not in sent
    kept = [path for path in site.folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]
    [lifecycle] = [row for row in begun().of("lifecycle") if row["what"] == "begin"]
    assert lifecycle["data"]["attempt"] == {"wandb": "https://wandb.example/team/runs/ab12", "mlflow": "f00"}
    assert lifecycle["data"]["conditions"]["environment"] == {"OMP_NUM_THREADS": "1"}
