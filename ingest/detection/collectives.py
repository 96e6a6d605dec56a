"""Who waited for whom in collectives: the rank that waits least came last, and no clock is needed to see it.

Blocking collectives of all with all end together, so what a rank spends in one beyond the rank that spends least is
waiting: `wait = d - min d`. Of rooted ones (broadcast) and of sends and receives that is not so.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ingest.detection.columns import lower_median
from ingest.detection.facts import Floats, Ints

NAMES = frozenset({"allreduce", "allgather", "reducescatter"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """From when on a rank is blamed; shares of the step, and of the wait that a cause must explain."""

    blamed: float = 0.10
    critical: float = 0.20
    explained: float = 0.80


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """A step of ranks that reduce together, one value for each rank, in seconds; NaN where it is not known.

    `waited` is in all its collectives, `parts` what the rank did before them, by phase name; `step_s` is its length.
    """

    waited: Floats
    parts: Mapping[str, Floats]
    step_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Who came last, as positions in the step's ranks; `waited_s` is how much longer the victim waited.

    `share` is that over the step. `cause` names the phase whose excess over the lower median of the others,
    `excess_s`, explains it. `abstained` says in words why nobody is blamed, or no cause is named.
    """

    culprit: int
    victim: int
    waited_s: float
    share: float
    blamed: bool
    critical: bool
    cause: str
    excess_s: float
    abstained: str


def waits(call: Ints, seconds: Floats, ranks: Ints) -> Floats:
    """How long each part in a collective waited; NaN where not all parts of it are known.

    `call` is equal for the parts of one collective (same process group, name and number), `ranks` how many have a
    part in it. One rank alone waits for nobody.
    """
    if not len(call):
        return np.empty(0)
    number = np.unique(call, return_inverse=True)[1].reshape(-1)
    least = np.full(number.max() + 1, np.inf)
    np.minimum.at(least, number, seconds)
    whole = np.bincount(number)[number] == ranks
    return np.where(whole, seconds - least[number], np.nan)


def verdict(step: Step, policy: Policy = Policy()) -> Verdict | None:
    """Who made the others wait, and by what; None where fewer than two ranks, or not all waits, are known."""
    if len(step.waited) < 2 or not np.isfinite(step.waited).all() or not step.step_s > 0:
        return None
    culprit, victim = int(np.argmin(step.waited)), int(np.argmax(step.waited))
    waited = float(step.waited[victim] - step.waited[culprit])
    share = waited / step.step_s
    blamed = share >= policy.blamed
    cause, excess = _longest_excess(step, culprit) if blamed else ("", 0.0)
    explains = blamed and excess >= policy.explained * waited
    return Verdict(
        culprit=culprit, victim=victim, waited_s=waited, share=share, blamed=blamed, critical=share >= policy.critical,
        cause=cause if explains else "", excess_s=excess if explains else 0.0,
        abstained=_why_not(step, culprit, blamed=blamed, explains=explains),
    )  # fmt: skip


def _longest_excess(step: Step, rank: int) -> tuple[str, float]:
    """The part in which a rank exceeds the lower median of the others most, and by how much."""
    excess = {name: _excess(seconds, rank) for name, seconds in step.parts.items()}
    name = max(excess, key=lambda each: excess[each], default="")
    return name, excess.get(name, 0.0)


def _excess(seconds: Floats, rank: int) -> float:
    # A rank without the phase has spent no time in it.
    spent = np.nan_to_num(seconds)
    return float(spent[rank] - lower_median(np.delete(spent, rank)))


def _why_not(step: Step, culprit: int, *, blamed: bool, explains: bool) -> str:
    if explains:
        return ""
    if not blamed:
        return "the ranks wait about alike"
    backward = step.parts.get("backward")
    if backward is not None and len(step.parts) == 1:
        return "only backward passes are known, and they are equal"
    _, excess = _longest_excess(step, culprit)
    return "no phase before it is longer there" if excess <= 0 else "no one phase before it explains most of that"
