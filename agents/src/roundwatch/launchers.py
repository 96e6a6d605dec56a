"""What each launcher tells a process of its run and its rank, and what of that is not to be believed.

A new launcher is one function and one line in `LAUNCHERS`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from roundwatch import starters, wire

Environment = Mapping[str, str]
MAX_DIGITS = 18
PROC = starters.PROC
NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
# Pods of a training operator's job are called so: "vit-worker-3".
POD = re.compile(r"(.+)-(?:master|worker)-\d+")
NO_COMMON_ID = (
    "the parts of this job have no common id, and each is shown as a run of its own: "
    "give init a run_id, or set ROUNDWATCH_RUN_ID"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one launcher says.

    `rank`, `local_rank` and `world_size` are only believed together, from one launcher. `partial` says that others of
    the job may have another `run_id`. `run_from` and `rank_from` name the variables, `doubts` says in words what was
    not believed.
    """

    run_id: str | None = None
    run_from: str = ""
    partial: bool = False
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    rank_from: str = ""
    group: str | None = None
    doubts: tuple[str, ...] = ()


def number(environment: Environment, name: str) -> int | None:
    """A count from 0 to MAX_RANK from the environment; None where it is absent or something else."""
    text = environment.get(name, "")
    usable = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS and int(text) <= wire.MAX_RANK
    return int(text) if usable else None


def text(environment: Environment, name: str) -> str | None:
    """A text from the environment in a form that every server takes: nobody may be near who could correct it."""
    return wire.fitting(environment.get(name, "").strip()) or None


def torchrun(environment: Environment) -> Told:
    """PyTorch's launcher, and those that set what it sets.

    RANK alone may be any program's, and on some platforms it is the node's number: it counts only beside LOCAL_RANK,
    which may be 0 everywhere and tells nobody apart. "none" is torchrun's default id, the same for every job.
    """
    run_id, doubts = text(environment, "TORCHELASTIC_RUN_ID"), []
    if run_id == "none":
        run_id = None
        doubts.append("TORCHELASTIC_RUN_ID is 'none', as for every job that is given no id: not believed")
    if "RANK" in environment and "LOCAL_RANK" not in environment:
        doubts.append(f"RANK={environment['RANK']:.20} without LOCAL_RANK is not believed: it may be the node's number")
    told = Told(run_id=run_id, run_from="TORCHELASTIC_RUN_ID", doubts=tuple(doubts))
    if "LOCAL_RANK" not in environment:
        return told
    return replace(
        told,
        rank=number(environment, "RANK"),
        local_rank=number(environment, "LOCAL_RANK"),
        world_size=number(environment, "WORLD_SIZE"),
        rank_from="RANK beside LOCAL_RANK",
    )


def torchft(environment: Environment) -> Told:
    """torchft: each replica group has a torchrun and a rank 0 of its own, so that the group belongs to the name."""
    told, group = torchrun(environment), number(environment, "REPLICA_GROUP_ID")
    return told if group is None else replace(told, group=f"replica-{group}", partial=True)


def slurm(environment: Environment) -> Told:
    """Slurm:

    The job is the run. Tasks have ranks only within a step: in the batch script itself all read 0.
    """
    told = Told(run_id=text(environment, "SLURM_JOB_ID"), run_from="SLURM_JOB_ID")
    if "SLURM_STEP_ID" not in environment:
        return told
    return replace(
        told,
        rank=number(environment, "SLURM_PROCID"),
        local_rank=number(environment, "SLURM_LOCALID"),
        world_size=number(environment, "SLURM_STEP_NUM_TASKS"),
        rank_from="SLURM_PROCID",
    )


def kubernetes(environment: Environment) -> Told:
    """Kubernetes: the job that a pod's name tells, for ranks whose torchrun spans several pods.

    A job of independent pods is no run, and a pod without ranks could not be told from its neighbours.
    """
    if "KUBERNETES_SERVICE_HOST" not in environment or not spans_hosts(environment):
        return Told()
    pod, index = environment.get("HOSTNAME", ""), environment.get("JOB_COMPLETION_INDEX", "")
    job = pod.removesuffix(f"-{index}") if index.isdigit() else pod
    if job == pod:
        match = POD.fullmatch(pod)
        job = match[1] if match else ""
    return Told(run_id=wire.fitting(f"{_namespace()}{job}"), run_from="the pod's name") if job else Told()


def roundwatch_run(environment: Environment) -> Told:
    """`roundwatch run -- CMD`:

    One id for all processes of CMD, unless a launcher inside CMD knows a wider one.
    """
    run_id = text(environment, "ROUNDWATCH_LAUNCH_ID")
    return Told(run_id=run_id, run_from="roundwatch run", partial=spans_hosts(environment))


def starter(environment: Environment, proc: Path = PROC) -> Told:
    """Whoever started all ranks of this host, where nobody gave them an id."""
    found = starters.find(proc) if "LOCAL_RANK" in environment else None
    if found is None:
        return Told()
    return Told(run_id=found.id, run_from=f"process {found.pid}, which started the ranks", partial=True)


# The first that knows a run id of the whole job gives it, else the first that knows one of a part;
# the first that knows a rank gives the ranks.
LAUNCHERS: tuple[Callable[[Environment], Told], ...] = (torchft, slurm, kubernetes, roundwatch_run)


def ask(environment: Environment, proc: Path = PROC) -> Told:
    """What all of them say together."""
    told = [launcher(environment) for launcher in LAUNCHERS]
    known = sorted((one for one in told if one.run_id), key=lambda one: one.partial) or [starter(environment, proc)]
    ranked = next((one for one in told if one.rank is not None), Told())
    doubts = [doubt for one in told for doubt in one.doubts]
    if known[0].run_id and known[0].partial and (spans_hosts(environment) or told[0].group):
        doubts.append(NO_COMMON_ID)
    return replace(
        ranked,
        run_id=known[0].run_id,
        run_from=known[0].run_from,
        partial=known[0].partial,
        group=told[0].group,
        doubts=tuple(doubts),
    )


def spans_hosts(environment: Environment) -> bool:
    """Whether torchrun's ranks are more than those of this host."""
    here, all_ = number(environment, "LOCAL_WORLD_SIZE"), number(environment, "WORLD_SIZE")
    return here is not None and all_ is not None and here < all_


def _namespace() -> str:
    try:
        return f"{NAMESPACE.read_text().strip()}/"
    except OSError:
        return ""
