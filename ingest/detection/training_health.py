"""Training health: loss or gradient norm that is not finite, or a gradient norm far above its usual.

Eligible are workers whose training logs them. What is usual is learned from what is finite and does not explode, so
that an incident goes on for as long as it lasts: a level does not become the usual one by staying. Missing data means:
fewer values than a usual one needs judge only what is not finite; a run that logs neither says nothing, aloud. It is
told apart from slow machines: `disturbed` names what else is open in the run, and then the infrastructure is not said
to look normal; nor is it where nothing is read of it.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.detection.facts import Flags, Floats, Ints
from ingest.detection.verdicts import Verdict, fingerprint

KIND = "training_unhealthy"
_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them."""

    losses: frozenset[str] = frozenset({"loss", "train_loss", "train/loss"})
    norms: frozenset[str] = frozenset({"grad_norm", "gradient_norm", "train/grad_norm"})
    times: float = 10.0  # the median of its last `usual_of`
    usual_of: int = 50
    least: int = 10  # values that make a usual one


DEFAULT = Policy()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """What one worker logged of one metric, oldest first: times in Unix nanoseconds; values may be no numbers.

    `usual` is what was usual in the newest incident that it was in, NaN where it was in none: it counts while too few
    of the values tell.
    """

    worker: str
    metric: str
    time_ns: Ints
    value: Floats
    usual: float = float("nan")


@dataclass(frozen=True, slots=True)
class _Bad:
    """The first value of a series that is bad and all after it are: where it is, what is usual, and what is told."""

    series: Series
    at: int
    usual: float
    told: str


def judge(
    series: Sequence[Series], *, disturbed: Sequence[str] = (), sampled: bool = True, policy: Policy = DEFAULT
) -> tuple[Verdict | None, str]:
    """The incident as of the newest values, or None; and why nothing could be said, or an empty text.

    `disturbed` is what else is open in the run, `sampled` whether anything of its machines is read.
    """
    eligible = [one for one in series if one.metric in policy.losses | policy.norms and len(one.value)]
    if not eligible:
        return None, "neither a loss nor a gradient norm is logged"
    bad = [found for one in eligible if (found := _bad(one, policy)) is not None]
    return (_verdict(bad, disturbed, sampled=sampled), "") if bad else (None, "")


def _bad(one: Series, policy: Policy) -> _Bad | None:
    """What is bad now; what has been and is over is not."""
    wrong, usual = ~np.isfinite(one.value), float("nan")
    if one.metric in policy.norms:
        explodes, usual = exploding(one.value, policy, one.usual)
        wrong |= explodes
    if not wrong[-1]:
        return None
    fine = np.flatnonzero(~wrong)
    at = int(fine[-1]) + 1 if len(fine) else 0
    newest = float(one.value[-1])
    if not np.isfinite(newest):
        return _Bad(one, at, usual, f"{one.metric} is {'not a number' if np.isnan(newest) else 'infinite'}")
    return _Bad(one, at, usual, f"{one.metric} is {newest:.3g}, {newest / usual:.0f} times its usual {usual:.3g}")


def exploding(values: Floats, policy: Policy = DEFAULT, before: float = float("nan")) -> tuple[Flags, float]:
    """Which values are finite and more than so many times what was usual before them; and what is by the newest.

    Usual is the median of the last ones that were finite and did not explode, `before` while too few are known.
    """
    found = np.zeros(len(values), np.bool_)
    learned: deque[float] = deque(maxlen=policy.usual_of)
    usual = before
    for at in np.flatnonzero(np.isfinite(values)).tolist():
        usual = float(np.median(learned)) if len(learned) >= policy.least else before
        found[at] = usual > 0 and values[at] > policy.times * usual
        if not found[at]:
            learned.append(float(values[at]))
    return found, usual


def _verdict(bad: Sequence[_Bad], disturbed: Sequence[str], *, sampled: bool) -> Verdict:
    first = min(bad, key=lambda one: int(one.series.time_ns[one.at]))
    who = list(dict.fromkeys(one.series.worker for one in bad))
    others = f" (and on {len(who) - 1} others)" if len(who) > 1 else ""
    broken = any(not np.isfinite(one.series.value[-1]) for one in bad)
    normal = "The infrastructure looks normal." if sampled else ""
    hypothesis = f"Open beside it: {', '.join(disturbed)}." if disturbed else normal
    return Verdict(
        kind=KIND,
        fingerprint=fingerprint(KIND, since=None, phase=""),
        phase="",
        severity="critical" if broken else "warning",
        observed=f"{first.told} on {first.series.worker}{others}.",
        hypothesis=hypothesis,
        workers=tuple(who[:_NAMED]),
        rounds=(),
        marks=(),
        opened_ns=int(first.series.time_ns[first.at]),
        resolved_ns=None,
        evidence={
            "metrics": sorted({one.series.metric for one in bad}), "workers": len(who),
            "usual": [
                {"worker": one.series.worker, "metric": one.series.metric, "value": one.usual}
                for one in bad if np.isfinite(one.usual)
            ],
        },
    )  # fmt: skip
