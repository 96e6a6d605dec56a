"""Work on the critical path that computes nothing: what the rounds of a run wait for, whoever does it.

Eligible is every phase that is neither compute nor wait; gaps are none. Warm-up is left out, so that a run is judged
from its second round on. Each is a fact of severity info, listed and never alerted; of what was saved it also says
whether anything ever loaded it. Missing data means: a round without a path says nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ingest.detection.critical_path import Segment, build, walk
from ingest.detection.facts import History, Kind, Window
from ingest.detection.verdicts import Verdict, fingerprint
from ingest.detection.wording import duration

KIND = "work_on_path"
_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Frozen thresholds; a team or a run may override them."""

    share: float = 0.05  # of the wall time of those rounds
    windows: int = 20  # the last so many


DEFAULT = Policy()


@dataclass(slots=True)
class _Phase:
    """What one phase took of the path: nanoseconds by lane and by window."""

    persists: bool = False
    by_lane: dict[int, int] = field(default_factory=dict)
    by_window: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Context:
    """The paths of the newest windows together: their wall time in nanoseconds, and each phase's part of it."""

    wall_ns: int
    rounds: int
    phases: Mapping[str, _Phase]


def judge(history: History, loaded: Mapping[str, bool], policy: Policy = DEFAULT) -> tuple[Verdict, ...]:
    """One verdict for each phase with that share of the path or more.

    `loaded` says of phases that save something whether any of it was loaded later; of others it is not known.
    """
    context = _context(history, policy)
    return tuple(
        _verdict(history, context, phase, used=loaded.get(phase) if took.persists else None)
        for phase, took in sorted(context.phases.items())
        if sum(took.by_lane.values()) >= policy.share * context.wall_ns
    )


def _context(history: History, policy: Policy) -> Context:
    wall, rounds, phases = 0, 0, dict[str, _Phase]()
    begun = _begins(history)
    for at, window in list(enumerate(history.windows))[-policy.windows :]:
        path = _path(history, window, begun[at])
        counted = [one for one in path if one.lane not in window.cold]
        if not counted:
            continue
        wall += sum(one.length_ns for one in counted)
        rounds += len(window.rounds)
        for one in counted:
            if not one.gap and one.kind not in (Kind.COMPUTE, Kind.WAIT):
                took = phases.setdefault(one.phase, _Phase())
                took.persists |= one.kind == Kind.PERSIST
                took.by_lane[one.lane] = took.by_lane.get(one.lane, 0) + one.length_ns
                took.by_window[at] = took.by_window.get(at, 0) + one.length_ns
    return Context(wall_ns=wall, rounds=rounds, phases=phases)


def _begins(history: History) -> list[int]:
    """When each window began: with the end of the one before, or with its first phase where that is later."""
    spans, found = history.spans, []
    before = 0
    for window in history.windows:
        own = spans.begin_ns[np.isin(spans.round, window.rounds)]
        first = int(own.min()) if len(own) else window.end_ns
        found.append(max(first, before))
        before = window.end_ns
    return found


def _path(history: History, window: Window, begin_ns: int) -> Sequence[Segment]:
    if window.end_ns <= begin_ns or window.cold >= {worker.lane for worker in history.workers}:
        return ()
    spans = history.spans.chosen(np.flatnonzero(np.isin(history.spans.round, window.rounds)))
    return walk(build(spans, history.workers, begin_ns, window.end_ns))


def _verdict(history: History, context: Context, phase: str, *, used: bool | None) -> Verdict:
    took = context.phases[phase]
    total = sum(took.by_lane.values())
    names = {worker.lane: worker.name for worker in history.workers}
    lanes = sorted(took.by_lane, key=lambda lane: (-took.by_lane[lane], lane))
    share, each_s = total / context.wall_ns, total / context.rounds / 1e9
    word = history.words.round
    rounds = f"the last {context.rounds} {word}s" if context.rounds > 1 else f"the {word}"
    never = " Nothing of what it saved was loaded since." if used is False else ""
    return Verdict(
        kind=KIND,
        fingerprint=fingerprint(KIND, since=None, phase=phase),
        phase=phase,
        severity="info",
        observed=f"{word.capitalize()}s waited {duration(each_s)} each for {phase}, {share:.0%} of {rounds}.{never}",
        hypothesis=f"{phase} may not need to be waited for." if used is False else "",
        workers=tuple(names.get(lane, "") for lane in lanes[:_NAMED]),
        rounds=(),
        marks=(),
        opened_ns=history.windows[min(took.by_window)].end_ns,
        resolved_ns=None,
        evidence={
            "share": round(share, 3), "seconds_a_round": round(each_s, 3), "rounds": context.rounds,
            "workers": len(lanes), "loaded_later": used,
        },
    )  # fmt: skip
