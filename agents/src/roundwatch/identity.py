"""Who this process is: run, worker, rank, machine and site, as given, set or told by its launcher.

What the caller gives wins over `ROUNDWATCH_RUN_ID`, `ROUNDWATCH_WORKER` and `ROUNDWATCH_SITE`, and those win
over what a launcher says.
"""

import hashlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from roundwatch import launchers, wire
from roundwatch.launchers import Environment, Told

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Who this process is. `run_found` says that `run_id` came from a launcher and not from a person.

    `sources` says where run, worker, rank, group and site are from where they are known and were not given to `init`,
    `doubts` what was said and is not believed.
    """

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
    sources: Mapping[str, str]
    doubts: tuple[str, ...]


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
    proc: Path = launchers.PROC,
) -> Found:
    """Everything about this process's identity that is given, set or found; `run_id` None where nobody knows
    one.

    A launcher's ranks number the trainers: a coordinator has a rank only if it is given one, so that a
    coordinator that a launcher started as its task 0 is not taken for the trainer `rank-0`.
    """
    told = launchers.ask(environment, proc)
    chosen_id = run_id or launchers.text(environment, "ROUNDWATCH_RUN_ID")
    chosen_name = worker or launchers.text(environment, "ROUNDWATCH_WORKER")
    ranks = told if role == "trainer" else Told()
    if rank is not None and rank != ranks.rank:
        ranks = Told(rank=rank, group=ranks.group)
    chosen_group = group or ranks.group
    return Found(
        run_id=chosen_id or told.run_id,
        run_found=chosen_id is None and told.run_id is not None,
        rank=ranks.rank,
        local_rank=ranks.local_rank,
        world_size=ranks.world_size,
        group=chosen_group,
        worker=chosen_name or worker_name(role, ranks.rank, chosen_group),
        role=role,
        machine=machine(),
        host=wire.fitting(socket.gethostname()),
        site=site or launchers.text(environment, "ROUNDWATCH_SITE"),
        sources={
            "run": "ROUNDWATCH_RUN_ID" if chosen_id else told.run_from,
            "worker": "ROUNDWATCH_WORKER" if chosen_name else f"its {'role' if ranks.rank is None else 'rank'}",
            "rank": ranks.rank_from,
            "group": "REPLICA_GROUP_ID",
            "site": "ROUNDWATCH_SITE",
        },
        doubts=tuple(doubt for doubt in told.doubts if doubt != launchers.NO_COMMON_ID or chosen_id is None),
    )
