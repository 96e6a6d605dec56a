"""When a job was submitted and when it started: how long it waited in a queue, where Slurm or Kubernetes tells it."""

import os
import subprocess
from collections.abc import Mapping

from roundwatch.samplers.base import Paths

SUBMITTED = "ROUNDWATCH_JOB_SUBMITTED"
ASK_S = 5.0
BEGAN = 19  # position in /proc/<pid>/stat behind the name
MAX_DIGITS = 11


def found(environment: Mapping[str, str], paths: Paths) -> dict[str, int]:
    """Unix seconds of submission and start, and the seconds between them; what is not told is left out.

    Neither Slurm nor Kubernetes tells a job when it was submitted: whoever submits it may, and `roundwatch run` asks
    Slurm. Raises OSError, ValueError and IndexError where the kernel's files are of another form.
    """
    submitted = _seconds(environment.get(SUBMITTED, ""))
    start = _seconds(environment.get("SLURM_JOB_START_TIME", ""))
    if start is None and "KUBERNETES_SERVICE_HOST" in environment:
        start = _container_start(paths)
    told = {"job_submitted_unix_s": submitted, "job_start_unix_s": start}
    if submitted is not None and start is not None and start >= submitted:
        told["job_waited_s"] = start - submitted
    return {name: value for name, value in told.items() if value is not None}


def ask_slurm(environment: Mapping[str, str]) -> str | None:
    """When the job that this process is in was submitted, in Unix seconds as Slurm's `squeue` tells it; else None.

    Asked by one task of a job, for all of them would ask at once.
    """
    job = environment.get("SLURM_JOB_ID", "")
    if not job.isdigit() or environment.get("SLURM_PROCID", "0") != "0":
        return None
    command = ["squeue", "--noheader", f"--jobs={job}", "--format=%V"]
    try:
        told = subprocess.run(
            command,
            env={**environment, "SLURM_TIME_FORMAT": "%s"},
            capture_output=True,
            text=True,
            timeout=ASK_S,
            check=True,
        ).stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return told[0] if len(told) == 1 and _seconds(told[0]) is not None else None


def _seconds(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None


def _container_start(paths: Paths) -> int | None:
    """When the first process of this container began; None where that is the host's own."""
    lines = (paths.proc / "stat").read_text().splitlines()
    boot = next(int(line.split()[1]) for line in lines if line.startswith("btime "))
    first = (paths.proc / "1" / "stat").read_text(errors="replace").rpartition(")")[2].split()
    since_boot = int(first[BEGAN]) / os.sysconf("SC_CLK_TCK")
    return boot + int(since_boot) if since_boot > 1 else None
