"""The evidence of a what-if: how long each worker took for each phase, and what its peers say it could have taken.

Eligible are phases of workers with a peer of their cohort: the same work, and where data moves or is applied the same
site, where devices compute the same model. The reference is the lower median of the other workers' time, waiting left
out. Missing data means: who did not do the phase, or skipped most of it, is no reference; a phase without any keeps its
time, and collectives keep theirs, since in them everybody takes as long as the slowest.
"""

from dataclasses import dataclass

import numpy as np

from ingest.detection import noise
from ingest.detection.columns import lower_median, numbered
from ingest.detection.critical_path import Graph
from ingest.detection.durations import RENDEZVOUS, CohortKey, cohort_of, for_equal_work
from ingest.detection.facts import Flags, Floats, Ints, Kind, Worker
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
    spans, done = np.unique(span, return_index=True)
    amounts = tuple(_sums(number[done], amount[spans], len(one)) for amount in (graph.spans.items, graph.spans.nbytes))
    cohorts = _cohorts(graph, workers, lane, name, kind)
    reference = _references(cohorts, spent.astype(np.float64), amounts, policy)
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


def _sums(number: Ints, values: Floats, count: int) -> Floats:
    return np.bincount(number, values, count).astype(np.float64)


def _cohorts(graph: Graph, workers: tuple[Worker, ...], lane: Ints, name: Ints, kind: Ints) -> list[Ints]:
    """The items that are compared with each other."""
    known = {worker.lane: worker for worker in workers}
    found: dict[tuple[int, int, CohortKey], list[int]] = {}
    for at, (of, what, does) in enumerate(zip(lane.tolist(), name.tolist(), kind.tolist(), strict=True)):
        if of in known and graph.spans.names[what] not in RENDEZVOUS:
            found.setdefault((what, does, cohort_of(known[of], Kind(does))), []).append(at)
    return [np.array(members, np.int64) for members in found.values()]


def _references(cohorts: list[Ints], spent: Floats, amounts: tuple[Floats, ...], policy: Policy) -> Ints:
    """The lower median of the others' nanoseconds for as much work as each item did, -1 where there are no others."""
    found = np.full(len(spent), -1)
    for members in cohorts:
        judged = members[spent[members] >= policy.skipped_share * lower_median(spent[members])]
        judged = judged[spent[judged] > 0]
        if len(judged) >= 2:
            cost = for_equal_work(spent[judged], *(amount[judged] for amount in amounts))
            found[judged] = np.rint(noise.references(cost) * spent[judged] / cost).astype(np.int64)
    return found
