"""The graph of a round: which node followed which, where each began to work, and which of them it waited for last.

Nodes are leaf pieces and the instants (marks) that others wait for, in an order in which each comes after all that
it follows: by end, the inner before the outer. A piece follows the latest-ending piece of its worker that ended by its
begin, and every mark that it waits for and that comes before its own end: what ends later was not waited for (quorum),
and the last that ends inside it cuts it there. Kind `wait` is no node: what a wait waits for, the piece after it waits
for. Between two machines nothing counts that clock errors could explain: a mark has to come later than the worker's own
predecessor by more than the sum of both, and a worker whose clock is unknown neither waits nor is waited for.
"""

from dataclasses import dataclass

import numpy as np

from ingest.detection.critical_path.clocks import Clocks, clocks
from ingest.detection.critical_path.edges import Edges, Known, reached, wants
from ingest.detection.critical_path.nodes import Meetings, Pieces, meetings, pieces
from ingest.detection.critical_path.own_order import adjoining, latest
from ingest.detection.facts import Flags, Ints, Spans, Worker


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """One row for each node. Times are Unix nanoseconds; -1 where there is no node or key.

    `begin` is where a node began and `start` where it began to work, after what it waited for; a mark has no
    length, and `key` says whose it is. `own` is the node before it on its worker, `follows` the one of all that
    ended last, at `ready`: what lies between `ready` and `start` is a gap. `unclaimed` counts the waits that were
    not looked at because a clock is unknown.
    """

    spans: Spans
    kinds: Ints
    begin_ns: int
    end_ns: int
    lane: Ints
    span: Ints
    begin: Ints
    start: Ints
    end: Ints
    key: Ints
    own: Ints
    follows: Ints
    ready: Ints
    edges: Edges
    clocks: Clocks
    unclaimed: int


def build(spans: Spans, workers: tuple[Worker, ...], begin_ns: int, end_ns: int) -> Graph:
    """The graph of what happened within [begin_ns, end_ns); `spans` may reach beyond it, and be of several rounds."""
    work, waits, kinds = pieces(spans, begin_ns, end_ns)
    found, time = meetings(spans, workers), clocks(spans, workers)
    inside = (found.mark_at > begin_ns) & (found.mark_at <= end_ns)
    sure = time.known[spans.lane[found.mark_span]]
    span, begin, end, key = _ordered(spans, work, found, inside & sure)
    lane = spans.lane[span]
    own = adjoining(spans, lane, span, begin, end, key, latest(lane, begin, end, key))
    own_end = np.where(own >= 0, end[own], begin_ns)
    wanted = wants(Known(spans, time, span, lane, begin, end, key), found, waits)
    certain = time.known[lane[wanted.node]]
    edges = reached(wanted.chosen(certain), key)
    last, node = edges.last, edges.node
    edges = edges.chosen(end[last] - own_end[node] > time.between(lane[node], lane[last]))
    follows, ready, start = own.copy(), own_end.copy(), np.maximum(begin, own_end)
    # Of several that a node waits for, the last one written is the latest: nodes are in the order of their ends.
    order = np.argsort(edges.last, kind="stable")
    follows[edges.node[order]] = edges.last[order]
    np.maximum.at(ready, edges.node, end[edges.last])
    np.maximum.at(start, edges.node, end[edges.last])
    return Graph(
        spans=spans, kinds=kinds, begin_ns=begin_ns, end_ns=end_ns, lane=lane, span=span, begin=begin, start=start,
        end=end, key=key, own=own, follows=follows, ready=ready, edges=edges, clocks=time,
        unclaimed=int((~certain).sum() + (inside & ~sure).sum()),
    )  # fmt: skip


def _ordered(spans: Spans, work: Pieces, found: Meetings, use: Flags) -> tuple[Ints, Ints, Ints, Ints]:
    """Nodes as (span, begin, end, key of a mark or -1), each after all that it can follow."""
    of_mark, at, begins = found.mark_span[use], found.mark_at[use], found.mark_begins[use]
    span = np.concatenate([work.span, of_mark])
    end = np.concatenate([work.end, at])
    is_mark = np.repeat([False, True], [len(work.span), len(of_mark)])
    # The begin of a collective comes after whatever ended in the same instant.
    comes = np.concatenate([np.zeros(len(work.span), np.bool_), begins])
    order = np.lexsort((is_mark, span, -spans.start[span], -spans.begin_ns[span], comes, end))
    begin = np.concatenate([work.begin, at])
    key = np.concatenate([np.full(len(work.span), -1), found.mark_key[use]])
    return span[order], begin[order], end[order], key[order]
