"""All that is concluded of one round by itself: what kept its GPUs waiting, its critical path, what-ifs, intervals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from ingest.detection import communication, what_if
from ingest.detection.communication import Communication
from ingest.detection.critical_path import Segment, build, walk
from ingest.detection.facts import Ints, Kind, Spans, Worker
from ingest.detection.gpu_waiting import Share, Waiting, attribute
from ingest.detection.named_intervals import USUAL, Event, Interval, Measured, measure
from ingest.detection.what_if import WhatIf
from ingest.detection.wording import ROUNDS, Words

MOST_SEGMENTS = 500  # of a path that is kept; of more, the short ones between are told together
MOST_SHARES = 200
SEVERAL = "several short phases"
_Abstaining = TypeVar("_Abstaining", Communication, WhatIf)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundAnalysis:
    """A round from `begin_ns` to `end_ns` (Unix nanoseconds); `unclaimed` counts waits left out for unknown clocks."""

    begin_ns: int
    end_ns: int
    path: tuple[Segment, ...]
    waiting: Waiting
    communication: Communication
    what_if: WhatIf
    intervals: tuple[Measured, ...]
    unclaimed: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """Round `index` from `begin_ns` to `end_ns` with its spans, and those of its neighbours that reach into it.

    `trainers` are the lanes of those that took part, `events` those that `intervals` are measured by. `asked` tells
    what people asked to be measured from what they ask at another time, `words` are those of what is said.
    """

    index: int
    begin_ns: int
    end_ns: int
    trainers: Ints
    workers: tuple[Worker, ...]
    spans: Spans
    events: tuple[Event, ...] = ()
    intervals: tuple[Interval, ...] = USUAL
    asked: str = ""
    words: Words = ROUNDS


def analyse(given: Given) -> RoundAnalysis:
    """Everything of one round."""
    graph = build(given.spans, given.workers, given.begin_ns, given.end_ns)
    path = walk(graph)
    waiting = attribute(graph, path, given.trainers)
    return RoundAnalysis(
        begin_ns=given.begin_ns,
        end_ns=given.end_ns,
        path=path,
        waiting=waiting,
        communication=communication.measure(graph, given.workers, given.trainers, waiting),
        what_if=what_if.judge(graph, given.workers, waiting.shares),
        intervals=measure(given.spans, given.workers, given.index, given.events, given.intervals, given.words),
        unclaimed=graph.unclaimed,
    )


def told(given: Given) -> dict[str, Any]:
    """The analysis by names instead of lanes, bounded in size; times and durations are integer nanoseconds."""
    found = analyse(given)
    names = {worker.lane: worker.name for worker in given.workers}
    return {
        "begin_ns": found.begin_ns,
        "end_ns": found.end_ns,
        "unclaimed": found.unclaimed,
        "path": [_segment(one, names) for one in abridged(found.path, MOST_SEGMENTS)],
        "trainers": found.waiting.trainers,
        "waiting_ns": found.waiting.total_ns,
        "waiting": [_share(one, names) for one in fewer(found.waiting.shares, MOST_SHARES)],
        "communication": asdict(_said(found.communication, given.words)),
        "what_if": _what_if(_said(found.what_if, given.words)),
        "intervals": [_interval(one, names) for one in found.intervals],
        "asked": given.asked,
    }


def _said(found: _Abstaining, words: Words) -> _Abstaining:
    return replace(found, abstained=words.said(found.abstained))


def abridged(path: Sequence[Segment], most: int) -> tuple[Segment, ...]:
    """The path with at most about `most` segments: the longest stay, what is short in between becomes one each time."""
    if len(path) <= most:
        return tuple(path)
    least = sorted((one.length_ns for one in path), reverse=True)[most // 2 - 1]
    kept: list[Segment] = []
    longest = 0
    for one in path:
        before = kept[-1] if kept else None
        if one.length_ns > least or before is None or before.phase != SEVERAL or before.span >= 0:
            told = one if one.length_ns > least else replace(one, span=-1, phase=SEVERAL, kind=Kind.OTHER, gap=False)
            kept.append(told)
            longest = one.length_ns
        else:
            # Who it is told of is the one that took most of it.
            lane, longest = (one.lane, one.length_ns) if one.length_ns > longest else (before.lane, longest)
            kept[-1] = replace(before, end_ns=one.end_ns, lane=lane)
    return tuple(kept)


def fewer(shares: Sequence[Share], most: int) -> tuple[Share, ...]:
    """At most about `most` shares: the greatest stay, the others become one for each phase, of no worker (lane -1)."""
    if len(shares) <= most:
        return tuple(shares)
    least = sorted((one.total_ns for one in shares), reverse=True)[most // 2 - 1]
    merged: dict[tuple[str, bool], Share] = {}
    kept = []
    for one in shares:
        if one.total_ns > least:
            kept.append(one)
            continue
        key = (one.phase if len(merged) < most // 2 else SEVERAL, one.gap)
        before = merged.get(key)
        own, others = (before.own_ns, before.others_ns) if before else (0, 0)
        merged[key] = replace(
            one, lane=-1, phase=key[0], kind=Kind.OTHER if key[0] == SEVERAL else one.kind,
            own_ns=one.own_ns + own, others_ns=one.others_ns + others,
        )  # fmt: skip
    return (*kept, *merged.values())


def _segment(one: Segment, names: dict[int, str]) -> dict[str, Any]:
    return {
        "worker": names.get(one.lane, ""), "phase": one.phase, "kind": _kind(one), "begin_ns": one.begin_ns,
        "end_ns": one.end_ns, "gap": one.gap, "error_ns": one.error_ns,
    }  # fmt: skip


def _share(one: Share, names: dict[int, str]) -> dict[str, Any]:
    return {
        "worker": names.get(one.lane, ""), "phase": one.phase, "kind": _kind(one), "gap": one.gap,
        "own_ns": one.own_ns, "others_ns": one.others_ns,
    }  # fmt: skip


def _kind(one: Segment | Share) -> str:
    """What it does; a gap does nothing that is known, whatever comes after it."""
    return Kind(one.kind).name.lower() if one.kind >= 0 and not one.gap else Kind.OTHER.name.lower()


def _what_if(found: WhatIf) -> dict[str, Any]:
    fixes = [
        {"scope": dict(fix.scope), "saved_ns": fix.saved_ns, "added_ns": fix.added_ns, "waited_ns": fix.waited_ns}
        for fix in found.fixes
    ]
    joint = found.joint and {
        "items": [{"worker": worker, "phase": phase} for worker, phase in found.joint.items],
        "saved_ns": found.joint.saved_ns,
    }
    return {"recoverable_ns": found.recoverable_ns, "abstained": found.abstained, "fixes": fixes, "joint": joint}


def _interval(one: Measured, names: dict[int, str]) -> dict[str, Any]:
    return {
        "name": one.interval.name, "between": str(replace(one.interval, most_s=None)), "most_s": one.interval.most_s,
        "passed": one.passed, "abstained": one.abstained,
        "begin_ns": one.begin_ns, "end_ns": one.end_ns, "error_ns": one.error_ns,
        "not_instrumented_ns": one.not_instrumented_ns,
        "parts": [_segment(part, names) for part in abridged(one.parts, MOST_SEGMENTS)],
    }  # fmt: skip
