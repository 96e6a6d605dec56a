"""Who waits for whom: a phase that blocks on others counts from the end of what it waits for."""

import numpy as np

from ingest.detection.columns import numbered
from ingest.detection.facts import Floats, Ints, Spans, Worker

# What each phase waits for on other workers unless the training says otherwise with `after`.
AWAITED = {"aggregate": "upload", "download": "aggregate", "apply": "aggregate", "save": "aggregate"}


def awaited(spans: Spans) -> Ints:
    """For each span the name index of what it waits for, declared or by default; -1 for nothing."""
    place = {name: index for index, name in enumerate(spans.names)}
    default = np.array([place.get(AWAITED.get(name, ""), -1) for name in spans.names], np.int64)
    return np.where(spans.after >= 0, spans.after, default[spans.name]) if len(spans) else spans.after


def counted_from(spans: Spans, workers: tuple[Worker, ...]) -> tuple[Ints, Floats]:
    """Each span's own begin or, if later, the end of what it waited for in its round; and how uncertain that is.

    Of the awaited phase the last end that lies within the span counts: what ended later was not waited for
    (quorum). The uncertainty in seconds is the sum of both clock errors: zero where nothing was waited for or
    where both are on one machine, infinite where an error is unknown.
    """
    begin, slack = spans.begin_ns.copy(), np.zeros(len(spans))
    wanted = awaited(spans)
    mine = np.flatnonzero(wanted >= 0)
    theirs = np.flatnonzero(np.isin(spans.name, wanted[mine]))
    if not len(mine) or not len(theirs):
        return begin, slack
    # One sorted list of both, in which each waiting span finds the awaited end just before its own end.
    both = np.concatenate([theirs, mine])
    what = np.concatenate([spans.name[theirs], wanted[mine]])
    waiting = np.arange(len(both)) >= len(theirs)
    meeting = numbered(spans.round[both], what)[0]
    order = np.lexsort((waiting, spans.end_ns[both], meeting))
    newest = np.maximum.accumulate(np.where(waiting[order], -1, np.arange(len(order))))
    at = np.flatnonzero(waiting[order] & (newest >= 0))
    at = at[meeting[order[at]] == meeting[order[newest[at]]]]
    span, other = both[order[at]], both[order[newest[at]]]
    cut = spans.end_ns[other] > spans.begin_ns[span]
    span, other = span[cut], other[cut]
    begin[span] = spans.end_ns[other]
    slack[span] = _uncertainty(spans, workers, span, other)
    return begin, slack


def _uncertainty(spans: Spans, workers: tuple[Worker, ...], span: Ints, other: Ints) -> Floats:
    machine = {worker.lane: worker.machine for worker in workers}
    here = np.array([machine.get(lane, "") for lane in spans.lane[span].tolist()])
    there = np.array([machine.get(lane, "") for lane in spans.lane[other].tolist()])
    known = (spans.error_ns[span] >= 0) & (spans.error_ns[other] >= 0)
    summed = np.where(known, (spans.error_ns[span] + spans.error_ns[other]) / 1e9, np.inf)
    same = (spans.lane[span] == spans.lane[other]) | ((here == there) & (here != ""))
    return np.where(same, 0.0, summed)
