"""From one worker's readings to what is said of its memory."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ingest.detection.memory import context as contexts
from ingest.detection.memory import rules, wording
from ingest.detection.memory.context import Context, RoundMemory
from ingest.detection.memory.facts import Held
from ingest.detection.memory.policy import DEFAULT, Policy
from ingest.detection.verdicts import Verdict, fingerprint

_TOLD = 4  # so many workers' sentences are told
GROWTH, RETAINED, CYCLE = "memory_growth", "memory_retained", "reference_cycle"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryJudgement:
    """What is said of one worker's memory; its rounds' floors and peaks, and what could not be said, and why."""

    verdicts: tuple[Verdict, ...]
    rounds: tuple[RoundMemory, ...]
    abstained: tuple[str, ...]


def judge(held: Held, policy: Policy = DEFAULT) -> MemoryJudgement:
    """Judge one worker's memory by one metric, as of its newest reading.

    A verdict that an earlier judgement gave and this one does not is over: what was held has been given back.
    """
    context = contexts.build(held, policy)
    verdicts: list[Verdict] = []
    if held.metric in policy.leaking:
        cycle = rules.cycle(context)
        found = (_growth(context, cycle), _retained(context, cycle), _cycle(context, cycle))
        verdicts = [one for one in found if one is not None]
    return MemoryJudgement(verdicts=tuple(verdicts), rounds=context.rounds, abstained=rules.abstained(context))


def together(judged: Iterable[MemoryJudgement]) -> tuple[Verdict, ...]:
    """One incident for each kind and metric, whichever workers are in it: the gravest and the earliest leads."""
    found: dict[str, list[Verdict]] = {}
    for one in judged:
        for verdict in one.verdicts:
            found.setdefault(verdict.fingerprint, []).append(verdict)
    return tuple(_joined(verdicts) for verdicts in found.values())


def _joined(verdicts: Sequence[Verdict]) -> Verdict:
    lead = min(verdicts, key=lambda one: (one.severity != "critical", one.opened_ns))
    last = [one for one in verdicts if one.resolved_ns is None] or verdicts
    told = " ".join(one.observed for one in last[:_TOLD])
    more = len(last) - _TOLD
    return replace(
        lead,
        observed=f"{told} And {more} more." if more > 0 else told,
        hypothesis=" ".join(dict.fromkeys(one.hypothesis for one in last if one.hypothesis)),
        workers=tuple(dict.fromkeys(name for one in last for name in one.workers)),
        rounds=tuple(sorted({index for one in last for index in one.rounds})),
        opened_ns=min(one.opened_ns for one in verdicts),
        resolved_ns=last[0].resolved_ns and max(one.resolved_ns or 0 for one in last),
        evidence=lead.evidence | {"held": [row for one in last for row in one.evidence["held"]]},
    )


def _growth(context: Context, cycle: rules.Cycle | None) -> Verdict | None:
    found = rules.growth(context)
    if found is None:
        return None
    policy = context.policy
    soon = found.left_rounds <= policy.critical_rounds or found.left_s <= policy.critical_s
    evidence = {
        "rounds": found.rounds,
        "tau": _figure(found.tau),
        "bytes_a_round": _figure(found.slope),
        "copies_a_round": _figure(found.slope / context.copy),
        "total_bytes": _figure(found.total),
        "limit_in_rounds": _figure(found.left_rounds),
        "limit_in_s": _figure(found.left_s),
        "share_of_limit": _figure(found.share_of_limit),
    }
    return _verdict(
        context, GROWTH, observed=wording.growth(context, found), evidence=evidence,
        hypothesis=wording.why(context, cycle), opened_ns=_span_end(context, found.last),
        rounds=tuple(one.index for one in context.rounds if found.first <= one.index <= found.last),
        severity="critical" if soon or found.share_of_limit >= policy.critical_share else "warning",
    )  # fmt: skip


def _retained(context: Context, cycle: rules.Cycle | None) -> Verdict | None:
    found, held = rules.retained(context), context.held
    if found is None or held.ended_ns is None:
        return None
    opened = held.ended_ns + round(context.policy.retained_s * 1e9)
    return _verdict(
        context, RETAINED, observed=wording.retained(context, found), hypothesis=wording.why(context, cycle),
        opened_ns=opened, resolved_ns=held.ended_ns + round(found.seconds * 1e9) if found.over else None,
        rounds=(context.rounds[-1].index,), severity="warning",
        evidence={
            "base_bytes": _figure(found.base),
            "kept_bytes": _figure(found.left),
            "kept_copies": _figure(found.left / context.copy),
            "seconds": _figure(found.seconds),
            "peak": context.rounds[-1].told,
        },
    )  # fmt: skip


def _cycle(context: Context, found: rules.Cycle | None) -> Verdict | None:
    if found is None:
        return None
    return _verdict(
        context, CYCLE, observed=wording.cycle(context, found), hypothesis=wording.holders(context), severity="warning",
        opened_ns=found.since_ns,
        rounds=(context.rounds[-1].index,) if context.rounds else (),
        evidence={
            "collections": found.times,
            "freed_bytes": _figure(found.most),
            "freed_copies": _figure(found.most / context.copy),
            "by": "floors" if found.by_floors else "collections",
        },
    )  # fmt: skip


def _verdict(
    context: Context, kind: str, *, observed: str, hypothesis: str, severity: str, opened_ns: int,
    rounds: tuple[int, ...], evidence: dict[str, Any], resolved_ns: int | None = None,
) -> Verdict:  # fmt: skip
    held = context.held
    return Verdict(
        kind=kind, fingerprint=fingerprint(kind, since=None, phase=held.metric), phase="", severity=severity,
        observed=observed, hypothesis=hypothesis, workers=(held.worker.name,), rounds=rounds, marks=(),
        opened_ns=opened_ns, resolved_ns=resolved_ns,
        evidence={
            "metric": held.metric,
            "held": [{"worker": held.worker.name, "device": held.device, **evidence, **_kept(held)}],
        },
    )  # fmt: skip


def _kept(held: Held) -> dict[str, Any]:
    """The objects that stay, with what holds them, where the training asked for any to be remembered."""
    return {"kept": [asdict(one) for one in held.kept]} if held.kept else {}


def _span_end(context: Context, index: int) -> int:
    return next((span.end_ns for span in reversed(context.held.rounds) if span.index == index), 0)


def _figure(value: float) -> float | None:
    """A number as JSON has it: what is not finite is not known."""
    return round(float(value), 6) if math.isfinite(value) else None
