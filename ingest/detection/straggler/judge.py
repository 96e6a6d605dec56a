"""From a history of windows to what is said of the newest one."""

from collections.abc import Sequence

import numpy as np

from ingest.detection.durations import Cohort, cohorts
from ingest.detection.facts import History
from ingest.detection.straggler import context as contexts
from ingest.detection.straggler import rules
from ingest.detection.straggler.compared import Limit
from ingest.detection.straggler.incident import Part, verdict
from ingest.detection.straggler.policy import DEFAULT, Policy
from ingest.detection.verdicts import Judgement, Sight, Verdict

_ABSTAINED = {
    Limit.RULE: "",
    Limit.NOISE: "too noisy to see less than {seen:.1f} x",
    Limit.UNKNOWN: "noise not known yet: less than {seen:.1f} x is not named",
    Limit.LENGTH: "too short to matter: less than {seen:.1f} x is not named",
    Limit.NOTHING: "nothing to compare with yet",
}


def judge(history: History, policy: Policy = DEFAULT) -> Judgement:
    """Judge the last window of `history` by those before it: one incident for each phase, whatever its cohorts."""
    if not history.windows:
        return Judgement(once=(), lasting=(), sights=())
    newest = len(history.windows) - 1
    found = cohorts(history)
    tests = sum(int(np.isfinite(cohort.seconds[-1]).sum()) for cohort in found if cohort.window[-1] == newest)
    built = [contexts.build(cohort, tests, _frozen(history, cohort), policy) for cohort in found]
    once: dict[str, list[Part]] = {}
    lasting: dict[str, list[Part]] = {}
    for context in built:
        incident = rules.lasting(context)
        phase = context.cohort.phase
        if incident is not None:
            lasting.setdefault(phase, []).append(_lasting_part(context, incident))
        if context.cohort.window[-1] == newest and len(columns := rules.once(context, incident)):
            once.setdefault(phase, []).append(_once_part(context, columns.tolist()))
    return Judgement(
        once=_verdicts(history, once, lasting=False),
        lasting=_verdicts(history, lasting, lasting=True),
        sights=tuple(_sight(context) for context in built if context.cohort.window[-1] == newest),
    )


def _frozen(history: History, cohort: Cohort) -> dict[int, float]:
    return {one.lane: one.seconds for one in history.baselines if one.phase == cohort.phase}


def _once_part(context: contexts.Context, columns: Sequence[int]) -> Part:
    hits = np.zeros_like(context.slow)
    hits[-1, columns] = True
    last = len(hits) - 1
    return Part(context=context, columns=tuple(columns), hits=hits, latest=last, opened=last, resolved=last)


def _lasting_part(context: contexts.Context, found: rules.Lasting) -> Part:
    return Part(
        context=context,
        columns=tuple(found.members.tolist()),
        hits=found.hits,
        latest=found.latest,
        opened=found.opened,
        resolved=found.resolved,
    )


def _verdicts(history: History, parts: dict[str, list[Part]], *, lasting: bool) -> tuple[Verdict, ...]:
    return tuple(verdict(history, phase, of_phase, lasting=lasting) for phase, of_phase in sorted(parts.items()))


def _sight(context: contexts.Context) -> Sight:
    cohort, row = context.cohort, context.rows[-1]
    seen = float(row.smallest_ratio)
    known = bool(np.isfinite(seen))
    present = np.isfinite(cohort.seconds[-1])
    reason = _ABSTAINED[row.limit].format(seen=seen)
    if known and np.isinf(cohort.slack[-1][present]).any():
        reason = "clock error unknown for what it waited for"
    elif known and (cohort.slack[-1][present] > 0.05 * np.nan_to_num(cohort.seconds[-1][present])).any():
        reason = "clock error larger than a small difference"
    worker = cohort.workers[0]
    return Sight(
        phase=cohort.phase,
        role=worker.role,
        group=worker.group,
        workers=int(present.sum()),
        smallest_ratio=round(seen, 3) if known else None,
        abstained=reason,
    )
