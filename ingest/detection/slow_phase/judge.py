"""From a round that goes on to what is said of it: marks for bars, deadlines to look again, and verdicts."""

from collections.abc import Callable, Sequence
from typing import Any

from ingest.detection import machines
from ingest.detection.slow_phase import context as contexts
from ingest.detection.slow_phase import rules, wording
from ingest.detection.slow_phase.context import Context, Judged
from ingest.detection.slow_phase.limits import Basis
from ingest.detection.slow_phase.live import Live, Presence, Seen
from ingest.detection.slow_phase.missing import Missing, missing
from ingest.detection.slow_phase.policy import DEFAULT, Policy
from ingest.detection.slow_phase.rules import Level, Mark, Watched
from ingest.detection.verdicts import Verdict, fingerprint
from ingest.detection.wording import Words

SLOW, STALLED, MISSING, LOST, RUN_STALLED = "slow_phase", "stalled", "missing", "worker_lost", "run_stalled"
_PAGES = {STALLED, LOST, RUN_STALLED}  # somebody is woken


def judge(live: Live, policy: Policy = DEFAULT) -> Watched:
    """Look at a round that goes on, once; asked again with the same facts it says the same.

    A verdict that an earlier look gave and this one does not is over: its phase has ended, begun, or is waited
    for. Its fingerprint carries the round, but of a lost worker, who is lost to the run.
    """
    context = contexts.build(live, policy)
    pairs = [(one, rules.marked(context, one)) for one in context.judged]
    verdicts = [
        *_of_phases(context, pairs, SLOW, Level.SLOW),
        *_of_phases(context, pairs, STALLED, Level.STALLED),
        *_missing(context),
        *_lost(context),
        *_run_stalled(context),
    ]
    return Watched(
        marks=tuple(mark for _, mark in pairs),
        deadlines=tuple(deadline for one, mark in pairs for deadline in rules.deadlines(one, mark)),
        verdicts=tuple(verdicts),
        abstained=tuple(sorted({why for one in context.judged if (why := _abstained(one, live.words))})),
    )


def _of_phases(context: Context, pairs: Sequence[tuple[Judged, Mark]], kind: str, least: Level) -> list[Verdict]:
    phases: dict[str, list[tuple[Judged, Mark]]] = {}
    for one, mark in pairs:
        if mark.level >= least:
            phases.setdefault(one.open.name, []).append((one, mark))
    return [_of_phase(context, kind, least, phase, found) for phase, found in sorted(phases.items())]


def _of_phase(context: Context, kind: str, least: Level, phase: str, found: Sequence[tuple[Judged, Mark]]) -> Verdict:
    judged, marks = [one for one, _ in found], [mark for _, mark in found]
    flagged = [one.worker for one in judged]
    lanes = {worker.lane for worker in flagged}
    cohorts = {contexts.key_of(one) for one in judged}
    peers = {lane for key in cohorts for lane in context.members.get(key, ())}
    shared = machines.shared(flagged, [context.workers[lane] for lane in peers - lanes if lane in context.workers])
    reached = [one.worked.reaches_at(mark.limits_s[least - 1]) for one, mark in found if not mark.foretold]
    return _verdict(
        context, kind, phase, [worker.name for worker in flagged],
        observed=wording.slow(phase, judged, marks, context.live.words),
        hypothesis=machines.told(shared, len(flagged)) if shared else "",
        opened_ns=min(reached, default=context.live.now_ns),
        marks=[(one.open.attempt, one.open.start, one.open.lane, one.open.round) for one in judged],
        evidence={
            "machine": shared.machine if shared else None,
            "slow": [_worker(one, mark, mark.limits_s[least - 1]) for one, mark in found],
        },
    )  # fmt: skip


def _missing(context: Context) -> list[Verdict]:
    phases: dict[str, list[Missing]] = {}
    for one in missing(context):
        phases.setdefault(one.phase, []).append(one)
    verdicts = []
    for phase, found in sorted(phases.items()):
        names = [context.workers[one.lane].name for one in found]
        observed = wording.missing(phase, names, found, context.live.now_ns, context.live.words)
        opened = min(one.since_ns + round(one.limit_s * 1e9) for one in found)
        evidence = {
            "missing": [
                {"worker": name, "since_ns": one.since_ns, "limit_s": round(one.limit_s, 6)}
                for name, one in zip(names, found, strict=True)
            ]
        }
        verdicts.append(
            _verdict(context, MISSING, phase, names, observed=observed, opened_ns=opened, evidence=evidence)
        )
    return verdicts


def _lost(context: Context) -> list[Verdict]:
    lanes, live = rules.lost(context), context.live
    if not lanes:
        return []
    names = [context.workers[lane].name for lane in lanes]
    seen = [live.seen[lane] for lane in lanes]
    quiet = [(live.now_ns - one.heard_ns) / 1e9 for one in seen]
    evidence = {
        "lost": [
            {"worker": name, "heard_ns": one.heard_ns, "reason": one.reason or None}
            for name, one in zip(names, seen, strict=True)
        ]
    }
    verdict = _verdict(
        context, LOST, "", names,
        observed=wording.lost(names, quiet, [one.reason for one in seen]), evidence=evidence, since_run=True,
        opened_ns=min(_lost_at(context, one) for one in seen),
    )  # fmt: skip
    return [verdict]


def _lost_at(context: Context, seen: Seen) -> int:
    return seen.heard_ns + (0 if seen.presence is Presence.GONE else round(context.policy.lost_s * 1e9))


def _run_stalled(context: Context) -> list[Verdict]:
    if not rules.stands_still(context):
        return []
    live = context.live
    at = [(context.workers[one.lane].name, one.name) for one in live.opens if one.lane in context.workers]
    busy = {worker for worker, _ in at}
    idle = [context.workers[lane].name for lane in sorted(live.seen) if lane in context.workers]
    idle = [worker for worker in idle if worker not in busy]
    quiet = (live.now_ns - live.last_end_ns) / 1e9
    limit = rules.stands_still_s(context)
    verdict = _verdict(
        context, RUN_STALLED, "", sorted(busy.union(idle)),
        observed=wording.run_stalled(quiet, at, idle, live.words), opened_ns=live.last_end_ns + round(limit * 1e9),
        evidence={"limit_s": round(limit, 6), "in": [list(pair) for pair in at], "in_nothing": idle},
    )  # fmt: skip
    return [verdict]


def _verdict(
    context: Context, kind: str, phase: str, workers: Sequence[str], *,
    observed: str, opened_ns: int, evidence: dict[str, Any], hypothesis: str = "",
    marks: Sequence[tuple[int, int, int, int]] = (), since_run: bool = False,
) -> Verdict:  # fmt: skip
    index = context.live.round
    return Verdict(
        kind=kind, fingerprint=fingerprint(kind, since=None if since_run else index, phase=phase), phase=phase,
        severity="critical" if kind in _PAGES else "warning", observed=observed, hypothesis=hypothesis,
        workers=tuple(workers), rounds=(index,), marks=tuple(marks),
        opened_ns=min(opened_ns, context.live.now_ns), resolved_ns=None,
        evidence=evidence,
    )  # fmt: skip


def _worker(one: Judged, mark: Mark, limit_s: float) -> dict[str, Any]:
    limits = one.limits
    return {
        "worker": one.worker.name,
        "seconds": round(mark.worked_s, 6),
        "limit_s": round(limit_s, 6),
        "reference_s": None if limits.basis is Basis.CAP else round(limits.reference_s, 6),
        "against": limits.basis.value,
        "finished": limits.finished,
        "peers": limits.peers,
        "foretold": mark.foretold,
    }


def _abstained(one: Judged, words: Words) -> str:
    name = one.open.name
    reasons: tuple[tuple[bool, Callable[[], str]], ...] = (
        (bool(one.waits_for), lambda: f"{name}: waits for {wording.names(one.waits_for, words)}"),
        (one.worked.slack_s == float("inf"), lambda: f"{name}: clock error unknown for what it waited for"),
        (one.limits.basis is Basis.CAP, lambda: f"{name}: nothing to compare with yet, only the absolute cap counts"),
    )
    return next((text() for applies, text in reasons if applies), "")
