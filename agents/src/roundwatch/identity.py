"""Who this process is: run, worker, rank, machine and site, as given, set or told by its launcher.

What the caller gives wins over `ROUNDWATCH_RUN_ID`, `ROUNDWATCH_WORKER` and `ROUNDWATCH_SITE`, and those win
over what a launcher says. A new launcher is one function and one line in `LAUNCHERS`.
"""

import hashlib
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from roundwatch import wire

Environment = Mapping[str, str]
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MAX_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one launcher says.

    `rank`, `local_rank` and `world_size` are only believed together, from one launcher.
    """

    run_id: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Who this process is. `run_found` says that `run_id` came from a launcher and not from a person."""

    run_id: str | None
    run_found: bool
    rank: int | None
    local_rank: int | None
    world_size: int | None
    group: str | None
    worker: str
    role: str
    machine: str
    host: str
    site: str | None


def _number(environment: Environment, name: str) -> int | None:
    """A count from 0 to MAX_RANK from the environment; None where it is absent or something else."""
    text = environment.get(name, "")
    usable = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS and int(text) <= wire.MAX_RANK
    return int(text) if usable else None


def _text(environment: Environment, name: str) -> str | None:
    """A text from the environment in a form that every server takes: nobody may be near who could correct it."""
    return wire.fitting(environment.get(name, "").strip()) or None


def torchrun(environment: Environment) -> Told:
    """PyTorch's launcher. RANK alone may be any program's, so it counts only beside LOCAL_RANK."""
    run_id = _text(environment, "TORCHELASTIC_RUN_ID")
    # "none" is torchrun's default, the same for every job.
    told = Told(run_id=None if run_id == "none" else run_id)
    if "LOCAL_RANK" not in environment:
        return told
    return replace(
        told,
        rank=_number(environment, "RANK"),
        local_rank=_number(environment, "LOCAL_RANK"),
        world_size=_number(environment, "WORLD_SIZE"),
    )


def slurm(environment: Environment) -> Told:
    """Slurm:

    The job is the run. Tasks have ranks only within a step: in the batch script itself all read 0.
    """
    told = Told(run_id=_text(environment, "SLURM_JOB_ID"))
    if "SLURM_STEP_ID" not in environment:
        return told
    return replace(
        told,
        rank=_number(environment, "SLURM_PROCID"),
        local_rank=_number(environment, "SLURM_LOCALID"),
        world_size=_number(environment, "SLURM_STEP_NUM_TASKS"),
    )


def roundwatch_run(environment: Environment) -> Told:
    """`roundwatch run -- CMD`:

    One id for all processes of CMD, unless a launcher inside CMD knows a wider one.
    """
    return Told(run_id=_text(environment, "ROUNDWATCH_LAUNCH_ID"))


# The first that knows a run id gives it, the first that knows a rank gives the ranks.
LAUNCHERS: tuple[Callable[[Environment], Told], ...] = (torchrun, slurm, roundwatch_run)


def _ask(environment: Environment) -> Told:
    told = [launcher(environment) for launcher in LAUNCHERS]
    ranked = next((one for one in told if one.rank is not None), Told())
    return replace(ranked, run_id=next((one.run_id for one in told if one.run_id), None))


def machine() -> str:
    """The physical machine under this process: the kernel's boot id made opaque, 16 hexadecimal digits.

    Containers on one machine share it. A system without boot ids is told by its host name.
    """
    try:
        seed = BOOT_ID.read_text().strip()
    except OSError:
        seed = socket.gethostname()
    return hashlib.sha256(f"roundwatch machine {seed}".encode()).hexdigest()[:16]


def worker_name(role: str, rank: int | None, group: str | None) -> str:
    """The default name:

    `rank-<rank>`, `<group>/rank-<rank>` with a group, or the role where there is no rank.
    """
    name = role if rank is None else f"rank-{rank}"
    return name if group is None else wire.fitting(f"{group}/{name}")


def find(
    *,
    run_id: str | None = None,
    role: str = "trainer",
    worker: str | None = None,
    rank: int | None = None,
    group: str | None = None,
    site: str | None = None,
    environment: Environment = os.environ,
) -> Found:
    """Everything about this process's identity that is given, set or found; `run_id` None where nobody knows
    one.

    A launcher's ranks number the trainers: a coordinator has a rank only if it is given one, so that a
    coordinator that a launcher started as its task 0 is not taken for the trainer `rank-0`.
    """
    told = _ask(environment)
    chosen_id = run_id or _text(environment, "ROUNDWATCH_RUN_ID")
    ranks = told if role == "trainer" else Told()
    if rank is not None and rank != ranks.rank:
        ranks = Told(rank=rank)
    return Found(
        run_id=chosen_id or told.run_id,
        run_found=chosen_id is None and told.run_id is not None,
        rank=ranks.rank,
        local_rank=ranks.local_rank,
        world_size=ranks.world_size,
        group=group,
        worker=worker or _text(environment, "ROUNDWATCH_WORKER") or worker_name(role, ranks.rank, group),
        role=role,
        machine=machine(),
        host=wire.fitting(socket.gethostname()),
        site=site or _text(environment, "ROUNDWATCH_SITE"),
    )
