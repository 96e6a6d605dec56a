"""Rounds of other shapes: a quorum that waits for nobody late, rounds that overlap, and hosts of two sorts."""

from roundwatch.lab.composing import Composer
from roundwatch.lab.shapes import Act, Scenario, Who

HOSTS, QUORUM = 8, 6
LATE = ("host-6", "host-7")
LATE_S = 7.0  # of encoding: they have sent after the aggregation, and before the others have the new model
QUICK_S, SLOW_S = 12.0, 26.0  # of training on the newer and the older devices
COORDINATOR = Who(name="coordinator", machine="coordinator", role="coordinator")


def quorum() -> Scenario:
    """The coordinator goes on when six of eight updates are there; who comes later goes on with the model it has."""
    return Scenario(
        name="quorum",
        about="8 hosts of which 6 are enough: two late ones hold up nobody (3 min)",
        workers=(COORDINATOR, *_hosts()),
        rounds=6,
        make=_quorum,
        config={"quorum": QUORUM},
    )


def pipelined() -> Scenario:
    """The next round's training begins while this one's update is still on its way."""
    return Scenario(
        name="pipelined",
        about="8 hosts that train the next round while they encode and upload this one (2 min)",
        workers=(COORDINATOR, *_hosts()),
        rounds=6,
        make=_pipelined,
    )


def mixed() -> Scenario:
    """Half of the hosts have older devices, and take twice as long: an imbalance, and nobody's fault."""
    return Scenario(
        name="mixed",
        about="8 hosts, four with A40 and four with H100: a standing imbalance and no straggler (4 min)",
        workers=(COORDINATOR, *_hosts(older=4)),
        rounds=6,
        make=_mixed,
    )


def _hosts(older: int = 0) -> tuple[Who, ...]:
    return tuple(
        Who(
            name=f"host-{at}", machine=f"machine-{at}", rank=at,
            conditions={"devices": "1 x NVIDIA A40" if at < older else "1 x NVIDIA H100 80GB HBM3"},
        )
        for at in range(HOSTS)
    )  # fmt: skip


def _update(made: Composer, host: str, train_s: float, encode_s: float) -> float:
    made.phase(host, "train", train_s, items=512)
    made.phase(host, "encode", encode_s)
    return made.phase(host, "upload", 1.0, nbytes=1 << 27)


def _shared(made: Composer, uploaded_s: float, hosts: list[str]) -> None:
    """The coordinator aggregates, then those hosts apply."""
    made.until("coordinator", "wait", uploaded_s)
    done = made.phase("coordinator", "aggregate", 2.0, after="upload")
    for host in hosts:
        made.until(host, "wait", done)
        made.phase(host, "apply", 4.0, after="aggregate")
    made.until("coordinator", "wait", max(made.at[host] for host in hosts))


def _quorum(index: int, begin_s: float, _failing: frozenset[str]) -> Act:
    made = Composer(begin_s)
    hosts = [f"host-{at}" for at in range(HOSTS)]
    for at, host in enumerate(hosts):
        _update(made, host, 15.0 + 0.1 * ((at + index) % 4), LATE_S if host in LATE else 2.0)
    _shared(made, sorted(made.at.values())[QUORUM - 1], [host for host in hosts if host not in LATE])
    for host in LATE:
        made.until(host, "wait", made.at["coordinator"])
    return made.act()


def _pipelined(index: int, begin_s: float, _failing: frozenset[str]) -> Act:
    made = Composer(begin_s)
    hosts = [f"host-{at}" for at in range(HOSTS)]
    uploaded = []
    for at, host in enumerate(hosts):
        trained = made.phase(host, "train", 15.0 + 0.05 * ((at + index) % 4), items=512)
        encoded = made.beside(host, "encode", trained, trained + 3.0)
        uploaded.append(made.beside(host, "upload", encoded, encoded + 2.0, nbytes=1 << 27))
    made.between("coordinator", "aggregate", max(uploaded), max(uploaded) + 2.0, after="upload")
    return made.act(next_s=max(made.at[host] for host in hosts))


def _mixed(index: int, begin_s: float, _failing: frozenset[str]) -> Act:
    made = Composer(begin_s)
    hosts = [f"host-{at}" for at in range(HOSTS)]
    for at, host in enumerate(hosts):
        _update(made, host, (SLOW_S if at < HOSTS // 2 else QUICK_S) + 0.1 * ((at + index) % 4), 2.0)
    _shared(made, max(made.at.values()), hosts)
    return made.act()
