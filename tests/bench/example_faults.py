"""The example's faults, and whether what was found of a run is right: of which kind, whose fault, and why.

Pure: findings are those that REST answers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Finding = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A training with a fault, or with none: then nobody is the `culprit`.

    `options` are the example's, with which a run is about as short as a judgement allows. A finding is of the fault
    if its kind is among `kinds` and its phase is `phase`; `explains` tells whether it names the cause, which nobody
    can know without a CPU quota if it `needs_quota`.
    """

    name: str
    options: tuple[str, ...]
    rounds: int
    culprit: str = ""
    kinds: frozenset[str] = frozenset()
    phase: str = ""
    explains: Callable[[Finding], bool] = lambda _: False
    needs_quota: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was wrong with what was found of a run, nothing if it was right; and the findings above info."""

    wrong: tuple[str, ...]
    telling: tuple[Finding, ...]


def judged(fault: Fault, findings: Sequence[Finding], *, quota: bool = True) -> Judged:
    """Compare a run's findings with its fault; whoever else is blamed beside the culprit makes it wrong, too.

    `quota` tells whether a CPU quota can be set here.
    """
    telling = tuple(one for one in findings if one["severity"] != "info")
    blamed = {worker for one in telling for worker in one["workers"]}
    wrong = [f"{who} is blamed" for who in sorted(blamed - {fault.culprit})]
    if fault.culprit:
        of_it = [one for one in telling if one["kind"] in fault.kinds and one["phase"] == fault.phase]
        if not any(fault.culprit in one["workers"] for one in of_it):
            wrong.append(f"{fault.culprit} is not found")
        elif (quota or not fault.needs_quota) and not any(map(fault.explains, of_it)):
            wrong.append("the cause is not named")
    elif telling and not blamed:
        wrong.append("something is found")
    return Judged(wrong=tuple(wrong), telling=telling)


def _held_back(finding: Finding) -> bool:
    return bool({"throttled", "quota"}.intersection(finding["evidence"].get("causes", ())))


def _in_a_cycle(finding: Finding) -> bool:
    return finding["kind"] == "reference_cycle" or "cycle" in finding["hypothesis"]


def _killed(finding: Finding) -> bool:
    return any(one.get("reason") for one in finding["evidence"].get("lost", ()))


STARVED = Fault(
    name="starved", rounds=3, culprit="trainer-2", phase="encode", options=("--starve-encoder=2",),
    kinds=frozenset({"straggler", "slow_phase"}), explains=_held_back, needs_quota=True,
)  # fmt: skip
KEPT = Fault(
    name="kept", rounds=11, culprit="coordinator", options=("--retain", "--round-seconds=2", "--link-mbit=60"),
    kinds=frozenset({"memory_growth", "reference_cycle", "memory_retained"}), explains=_in_a_cycle,
)  # fmt: skip
DYING = Fault(
    name="dying", rounds=4, culprit="trainer-3", kinds=frozenset({"worker_lost", "worker_failed"}), explains=_killed,
    options=("--die-in-round=1", "--die-trainer=3", "--round-seconds=5", "--link-mbit=60"),
)  # fmt: skip
HEALTHY = Fault(name="healthy", rounds=51, options=())
FAULTS = (STARVED, KEPT, DYING)
