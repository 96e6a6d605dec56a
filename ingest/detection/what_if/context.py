"""The evidence of a what-if: how long each worker took for each phase, and what its peers say it could have taken.

Eligible are phases of workers with a peer: same role, group and phase, and where data moves or is applied the same
site. The reference is the lower median of the other workers' time, waiting left out. Missing data means: who did not do
the phase, or skipped most of it, is no reference; a phase without any keeps its time, and collectives keep theirs,
since in them everybody takes as long as the slowest.
"""

from dataclasses import dataclass

import numpy as np

from ingest.detection.columns import numbered
from ingest.detection.critical_path import Graph
from ingest.detection.durations import RENDEZVOUS
from ingest.detection.facts import Flags, Ints, Kind, Worker
from ingest.detection.straggler import noise
from ingest.detection.what_if.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Context:
    """Items are a worker's time in one phase: one row for each in `lane`, `name`, `kind`, `spent_ns`, `excess_ns`.

    `excess_ns` is what it took beyond its reference, 0 where there is none (`compared` says which have one). `item`
    and `cut_ns` have a row for each node of `graph`: the item it belongs to (-1 for a mark) and what of its
    length goes when that takes its reference.
    """

    graph: Graph
    workers: tuple[Worker, ...]
    lane: Ints
    name: Ints
    kind: Ints
    spent_ns: Ints
    excess_ns: Ints
    compared: Flags
    item: Ints
    cut_ns: Ints


def build(graph: Graph, workers: tuple[Worker, ...], policy: Policy) -> Context:
    """Compare all workers' phases in the round."""
    piece = np.flatnonzero(graph.key < 0)
    span = graph.span[piece]
    number, one = numbered(graph.lane[piece], graph.spans.name[span], graph.kinds[span])
    lane, name, kind = graph.lane[piece][one], graph.spans.name[span][one], graph.kinds[span][one]
    length = graph.end[piece] - graph.start[piece]
    spent = np.zeros(len(one), np.int64)
    np.add.at(spent, number, length)
    reference = _references(graph, workers, lane, name, kind, spent, policy)
    compared = reference >= 0
    excess = np.where(compared, np.maximum(spent - reference, 0), 0)
    item, cut = np.full(len(graph.lane), -1), np.zeros(len(graph.lane), np.int64)
    item[piece] = number
    share = excess / np.maximum(spent, 1)
    cut[piece] = np.minimum(np.rint(length * share[number]).astype(np.int64), length)
    return Context(
        graph=graph, workers=workers, lane=lane, name=name, kind=kind, spent_ns=spent, excess_ns=excess,
        compared=compared, item=item, cut_ns=cut,
    )  # fmt: skip


def _references(
    graph: Graph, workers: tuple[Worker, ...], lane: Ints, name: Ints, kind: Ints, spent: Ints, policy: Policy
) -> Ints:
    """The lower median of the others' nanoseconds for each item, -1 where there are no others."""
    known = {worker.lane: worker for worker in workers}
    cohorts: dict[tuple[int, int, str, str, str], list[int]] = {}
    for at, (of, what, does) in enumerate(zip(lane.tolist(), name.tolist(), kind.tolist(), strict=True)):
        who = known.get(of)
        if who is None or graph.spans.names[what] in RENDEZVOUS:
            continue
        site = who.site if does in (Kind.TRANSFER, Kind.APPLY) else ""
        cohorts.setdefault((what, does, who.role, who.group, site), []).append(at)
    found = np.full(len(lane), -1)
    for members in cohorts.values():
        every = np.array(members, np.int64)
        judged = every[spent[every] >= policy.skipped_share * np.median(spent[every])]
        if len(judged) >= 2:
            found[judged] = noise.references(spent[judged].astype(np.float64)).astype(np.int64)
    return found
