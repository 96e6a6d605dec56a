"""The study's run 6: sixteen hosts, of which two encode for 18 s in round 4; the coordinator moves after it.

Published were the encode and upload times of round 4, that both slow hosts share one physical machine, that their
software could see more CPU threads than their quota allows, and from sync start to the last host 13 s with the
coordinator in Germany (rounds 2 and 3) and 3 s with it in the datacentre of the GPUs. All else is made up.
The source is the study of distributed training rounds, phase by phase, that was published in October 2026.
"""

from roundwatch.lab.composing import Composer
from roundwatch.lab.shapes import Act, Scenario, Who

HOSTS = 16
SLOW = {"host-06": 17.8, "host-07": 18.0}
SLOW_ROUND, MOVED_BEFORE = 4, 5
TRAIN_S, UPLOAD_S, AGGREGATE_S = 30.0, 1.0, 3.0
ENCODE_S = (1.5, 2.3)  # from the quickest to the slowest of the others
SYNC_S = {"Germany": 13.0, "datacentre": 3.0}
PARAMETERS = 86_000_000
A40 = {"devices": "1 x NVIDIA A40", "visible_cpus": 64.0}
COORDINATOR = Who(name="coordinator", machine="coordinator", role="coordinator", site="Germany")
MOVED = Who(name="coordinator", machine="coordinator-2", role="coordinator", site="datacentre")


def scenario() -> Scenario:
    """The run as a scenario of seven rounds."""
    return Scenario(
        name="run-6",
        about="16 hosts; in round 4 two that share a machine encode for 18 s; then the coordinator moves (6 min)",
        workers=(COORDINATOR, *(_host(rank) for rank in range(HOSTS))),
        rounds=7,
        make=_round,
        config={"model": "ViT-B/16", "parameters": PARAMETERS, "dataset": "Oxford-IIIT Pet"},
        model_bytes=PARAMETERS * 4,
        moved={MOVED_BEFORE: (MOVED,)},
    )


def _host(rank: int) -> Who:
    name = f"host-{rank:02}"
    machine = "machine-06" if name in SLOW else f"machine-{rank:02}"
    quota = {"cpu_quota_cpus": 8.0} if name in SLOW else {"cpu_quota_cpus": 64.0}
    return Who(name=name, machine=machine, rank=rank, site="datacentre", conditions=A40 | quota)


def _round(index: int, begin_s: float, _failing: frozenset[str]) -> Act:
    made = Composer(begin_s)
    hosts = [f"host-{rank:02}" for rank in range(HOSTS)]
    for rank, host in enumerate(hosts):
        made.phase(host, "train", TRAIN_S + _jitter(rank, index), items=1_600)
        made.phase(host, "encode", _encode_s(rank, host, index), nbytes=PARAMETERS // 2)
        made.phase(host, "upload", UPLOAD_S, nbytes=PARAMETERS // 2)
    uploaded = max(made.at.values())
    made.until("coordinator", "wait", uploaded)
    sync = made.phase("coordinator", "aggregate", AGGREGATE_S, after="upload")
    made.event("coordinator", "sync start", sync)
    last_s = SYNC_S["Germany" if index < MOVED_BEFORE else "datacentre"]
    for rank, host in enumerate(hosts):
        made.until(host, "wait", sync)
        # The last host decides; the others are through a little earlier.
        made.phase(host, "apply", last_s * (1 - 0.004 * rank), after="aggregate")
        made.event(host, "synchronised", made.at[host])
    made.until("coordinator", "wait", max(made.at.values()))
    return made.act()


def _encode_s(rank: int, host: str, index: int) -> float:
    if index == SLOW_ROUND and host in SLOW:
        return SLOW[host]
    least, most = ENCODE_S
    others = HOSTS - len(SLOW)
    # In another order each round; in the slow one without the slow two, so that both ends of the range are met.
    place = (rank if rank < 6 else max(rank - len(SLOW), 6)) * 5 % others
    return least + (most - least) * ((place + 3 * (index - SLOW_ROUND)) % others) / (others - 1)


def _jitter(rank: int, index: int) -> float:
    """Some hundredths of a second, but none in the round whose figures were published."""
    return 0.0 if index == SLOW_ROUND else ((rank * 7 + index * 11) % 13 - 6) / 200
