"""What a round would save without each scope's excess, what each costs alone, and the fewest that explain it all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ingest.detection.critical_path import Graph
from ingest.detection.facts import Flags, Worker
from ingest.detection.gpu_waiting import Share
from ingest.detection.what_if import context as contexts
from ingest.detection.what_if.context import Context
from ingest.detection.what_if.policy import DEFAULT, Policy
from ingest.detection.what_if.replay import Replays


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One scope (its worker, phase, machine or site by name) with all its durations at most their reference.

    `saved_ns` is what the round saves; `added_ns` what the scope alone costs to a round that is otherwise at
    its references; `waited_ns` GPU time that other trainers lost waiting for it. Nanoseconds.
    """

    scope: Mapping[str, str]
    saved_ns: int
    added_ns: int
    waited_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """The workers' phases that save `saved_ns` together, in the order in which they were found on the path.

    The fewest that save most of what can be recovered or, where even many do not, most of what many save.
    """

    items: tuple[tuple[str, str], ...]
    saved_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """`recoverable_ns` is saved where everything takes its reference; `fixes` begin with what saves most.

    `joint` is None where nothing can be recovered, or no few save much of it. `abstained` says why it is missing.
    """

    recoverable_ns: int
    fixes: tuple[Fix, ...]
    joint: Joint | None
    abstained: str = ""


_MANY = "no {policy.most_joint} workers' phases together save {policy.least_joint:.0%} of what can be recovered"
_Scope = tuple[Mapping[str, str], Flags]


def judge(graph: Graph, workers: tuple[Worker, ...], lost: Sequence[Share], policy: Policy = DEFAULT) -> WhatIf:
    """Replay the round of `graph`; `lost` is its GPU waiting by cause."""
    if len(graph.lane) > policy.most_nodes:
        return WhatIf(recoverable_ns=0, fixes=(), joint=None, abstained=f"more than {policy.most_nodes:,} phases")
    context = contexts.build(graph, workers, policy)
    if not context.compared.any():
        return WhatIf(recoverable_ns=0, fixes=(), joint=None, abstained="no phase has a peer to compare with")
    scopes = _scopes(context, policy)
    every = np.ones(len(context.lane), np.bool_)
    rows = [flags for _, flags in scopes] + [~flags for _, flags in scopes]
    replays = Replays(context)
    ideal, *told = replays.walls(np.array([every, *rows])).tolist()
    wall = graph.end_ns - graph.begin_ns
    saved, added = told[: len(scopes)], told[len(scopes) :]
    fixes = [
        Fix(scope=scope, saved_ns=wall - without, added_ns=alone - ideal, waited_ns=_waited(context, flags, lost))
        for (scope, flags), without, alone in zip(scopes, saved, added, strict=True)
    ]
    least = policy.least_share * wall
    told_of = [fix for fix in fixes if max(fix.saved_ns, fix.added_ns) > least]
    joint = _joint(context, replays, wall - ideal, policy) if wall - ideal > least else None
    return WhatIf(
        recoverable_ns=wall - ideal,
        fixes=tuple(sorted(told_of, key=lambda fix: (-fix.saved_ns, -fix.added_ns))),
        joint=joint,
        abstained=_MANY.format(policy=policy) if joint is None and wall - ideal > least else "",
    )


def _scopes(context: Context, policy: Policy) -> list[_Scope]:
    """Of each sort of scope those with the most excess, none without."""
    names = context.graph.spans.names
    of = {worker.lane: worker for worker in context.workers}
    apart = len({worker.site for worker in context.workers if worker.role == "trainer"}) > 1
    items = [(of[lane], names[name]) for lane, name in zip(context.lane.tolist(), context.name.tolist(), strict=True)]
    sorts: list[Callable[[Worker, str], dict[str, str]]] = [
        lambda worker, phase: {"worker": worker.name, "phase": phase},
        lambda worker, _: {"worker": worker.name},
        lambda _, phase: {"phase": phase},
        lambda worker, _: {"machine": worker.host or worker.machine},
        lambda worker, _: {"site": worker.site if apart else ""},
    ]
    found: list[_Scope] = []
    for sort in sorts:
        scopes = [tuple(sort(*item).items()) for item in items]
        excess: dict[tuple[tuple[str, str], ...], int] = {}
        for scope, each in zip(scopes, context.excess_ns.tolist(), strict=True):
            if each and all(value for _, value in scope):
                excess[scope] = excess.get(scope, 0) + each
        found += [
            (dict(scope), np.array([scope == other for other in scopes], np.bool_))
            for scope, _ in sorted(excess.items(), key=lambda each: -each[1])[: policy.most_scopes]
        ]
    return found


def _waited(context: Context, flags: Flags, lost: Sequence[Share]) -> int:
    names = context.graph.spans.names
    inside = set(zip(context.lane[flags].tolist(), (names[name] for name in context.name[flags].tolist()), strict=True))
    return sum(share.others_ns for share in lost if not share.gap and (share.lane, share.phase) in inside)


def _joint(context: Context, replays: Replays, recoverable: int, policy: Policy) -> Joint | None:
    """Fix what has most excess on the path, look where the path goes then, and so on until enough is explained."""
    wall = context.graph.end_ns - context.graph.begin_ns
    fixed = np.zeros(len(context.lane), np.bool_)
    chosen: list[int] = []
    saved = [0]
    now = replays.along(fixed)
    while saved[-1] < policy.explained * recoverable and len(chosen) < policy.most_joint:
        path = np.array(now.path, np.int64)
        cuts = np.bincount(context.item[path] + 1, context.cut_ns[path], len(fixed) + 1)[1:]
        cuts[fixed] = 0
        best = int(cuts.argmax())
        if not cuts[best]:
            break
        fixed[best] = True
        chosen.append(best)
        now = replays.along(fixed)
        saved.append(wall - now.wall_ns)
    if saved[-1] < policy.least_joint * recoverable:
        return None
    few = next(at for at, so_far in enumerate(saved) if so_far >= policy.explained * saved[-1])
    names = {worker.lane: worker.name for worker in context.workers}
    items = [(names[int(context.lane[at])], context.graph.spans.names[int(context.name[at])]) for at in chosen[:few]]
    return Joint(items=tuple(items), saved_ns=saved[few])
