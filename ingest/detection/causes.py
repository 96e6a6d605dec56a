"""What may explain why some workers were slow in a phase: facts that hold for all of them and not for their peers.

Eligible is what was sampled or said of a worker while the phase ran. Missing data means: a fact that is not known of
one of the slow ones explains nothing; peers of whom it is not known do not count. All of it is hypothesis, worded so,
with its figures; where nothing explains anything that is said too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ingest.detection import machines
from ingest.detection.facts import Worker
from ingest.detection.verdicts import Verdict

NOTHING = "nothing that was sampled of them differs from their peers"
UNKNOWN = "nothing was sampled of them while the phase ran"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them."""

    throttled: float = 0.10  # of the phase's time
    pressure: float = 0.20  # of the time some task waited for a CPU
    clock: float = 0.80  # of the device's usual clock
    hot_c: float = 85.0
    faults: float = 100.0  # major page faults a second
    peers: float = 0.5  # a fact that holds for so many of the peers or more explains nothing


DEFAULT = Policy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a worker while the phase ran; None where it is not.

    `quota_cores`, `threads` and `visible_cpus` (those that software sees) are counts, `throttled`, `pressure` and
    `clock` shares (of the phase, of the time, of the usual clock), `temperature_c` degrees, `faults` major page faults
    a second, `link_share` its width or speed by what it could have, `downgraded` whether it has less where it is not
    known how much, `device` a device's UUID.
    """

    quota_cores: float | None = None
    threads: float | None = None
    visible_cpus: float | None = None
    throttled: float | None = None
    pressure: float | None = None
    clock: float | None = None
    temperature_c: float | None = None
    faults: float | None = None
    link_share: float | None = None
    downgraded: bool | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A hypothesis: what it is called, and a sentence with its figures."""

    name: str
    text: str


_Told = Callable[[Facts], str]
_Holds = Callable[[Facts], bool | None]
_Grave = Callable[[Facts], float]


def causes(
    slow: Sequence[tuple[Worker, Facts]], peers: Sequence[tuple[Worker, Facts]], policy: Policy = DEFAULT
) -> tuple[tuple[Cause, ...], str]:
    """The hypotheses for `slow` beside `peers`, the strongest first; and, where there are none, why."""
    found = [*_machine(slow, peers), *_device(slow, peers)]
    found += [
        Cause(name=name, text=tells(facts))
        for name, holds, tells, grave in _rules(policy)
        if (facts := _worst(slow, peers, holds, grave, policy)) is not None
    ]
    if found:
        return tuple(found), ""
    return (), UNKNOWN if all(facts == Facts() for _, facts in slow) else NOTHING


def explained(
    verdict: Verdict,
    slow: Sequence[tuple[Worker, Facts]],
    peers: Sequence[tuple[Worker, Facts]],
    policy: Policy = DEFAULT,
) -> Verdict:
    """The verdict with what may explain it: the hypothesis that it has, and what was sampled; in its evidence, too."""
    found, why = causes(slow, peers, policy)
    told = dict.fromkeys([verdict.hypothesis, *(one.text for one in found)])
    evidence = {"causes": [one.name for one in found], "no_cause": why}
    return replace(verdict, hypothesis=" ".join(filter(None, told)), evidence={**verdict.evidence, **evidence})


def _rules(policy: Policy) -> list[tuple[str, _Holds, _Told, _Grave]]:
    """What each is called, whether it holds, what is told of it, and how grave it is (only to compare workers)."""
    return [
        ("throttled", lambda facts: _above(facts.throttled, policy.throttled),
         lambda facts: f"Their CPU quota throttled them for {facts.throttled:.0%} of the phase.",
         lambda facts: facts.throttled or 0.0),
        ("quota", _quota, _quota_told,
         lambda facts: max(facts.threads or 0.0, facts.visible_cpus or 0.0) / max(facts.quota_cores or 0.0, 1e-9)),
        ("pressure", lambda facts: _above(facts.pressure, policy.pressure),
         lambda facts: f"Tasks waited for a CPU {facts.pressure:.0%} of the time.",
         lambda facts: facts.pressure or 0.0),
        ("clock", lambda facts: _below(facts.clock, policy.clock),
         lambda facts: f"Their device ran at {facts.clock:.0%} of its usual clock.",
         lambda facts: -(facts.clock or 0.0)),
        ("temperature", lambda facts: _above(facts.temperature_c, policy.hot_c),
         lambda facts: f"Their device was at {facts.temperature_c:.0f} °C.",
         lambda facts: facts.temperature_c or 0.0),
        ("page faults", lambda facts: _above(facts.faults, policy.faults),
         lambda facts: f"They had {facts.faults:.0f} major page faults a second.",
         lambda facts: facts.faults or 0.0),
        ("link", lambda facts: _below(facts.link_share, 1.0),
         lambda facts: f"Their link runs at {facts.link_share:.0%} of what it could.",
         lambda facts: -(facts.link_share or 0.0)),
        ("downgraded link", lambda facts: facts.downgraded,
         lambda _: "The link of their device has fewer lanes or a lower generation than it could have.",
         lambda _: 0.0),
    ]  # fmt: skip


def _worst(
    slow: Sequence[tuple[Worker, Facts]],
    peers: Sequence[tuple[Worker, Facts]],
    holds: _Holds,
    grave: _Grave,
    policy: Policy,
) -> Facts | None:
    """The gravest facts of a slow worker if what is asked holds for all of them and for few peers."""
    if not slow or not all(holds(facts) for _, facts in slow):
        return None
    known = [answer for _, facts in peers if (answer := holds(facts)) is not None]
    return None if known and sum(known) >= policy.peers * len(known) else max((one for _, one in slow), key=grave)


def _machine(slow: Sequence[tuple[Worker, Facts]], peers: Sequence[tuple[Worker, Facts]]) -> list[Cause]:
    shared = machines.shared([worker for worker, _ in slow], [worker for worker, _ in peers])
    return [] if shared is None else [Cause(name="machine", text=machines.told(shared, len(slow)))]


def _device(slow: Sequence[tuple[Worker, Facts]], peers: Sequence[tuple[Worker, Facts]]) -> list[Cause]:
    """Two workers on one device: each slow one shares its own with somebody."""
    users: dict[str, list[str]] = {}
    for worker, facts in (*slow, *peers):
        if facts.device:
            users.setdefault(facts.device, []).append(worker.name)
    if not slow or not all(facts.device and len(users[facts.device]) > 1 for _, facts in slow):
        return []
    together = users[slow[0][1].device or ""]
    return [Cause(name="device", text=f"{' and '.join(together)} compute on one device.")]


def _quota(facts: Facts) -> bool | None:
    wanted = [count for count in (facts.threads, facts.visible_cpus) if count is not None]
    if facts.quota_cores is None or not wanted:
        return None
    return facts.quota_cores < max(wanted)


def _quota_told(facts: Facts) -> str:
    if facts.threads is not None and facts.quota_cores is not None and facts.quota_cores < facts.threads:
        return f"Their quota is {facts.quota_cores:g} CPUs, but {facts.threads:g} threads were in use."
    return f"Their quota is {facts.quota_cores:g} CPUs, but their software sees {facts.visible_cpus:g}."


def _above(value: float | None, bound: float) -> bool | None:
    return None if value is None else value >= bound


def _below(value: float | None, bound: float) -> bool | None:
    return None if value is None else value < bound
