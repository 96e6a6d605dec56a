"""Who waits for what: edges from nodes to the instants that others reached."""

from dataclasses import dataclass

import numpy as np

from ingest.detection.critical_path.clocks import Clocks
from ingest.detection.critical_path.nodes import Meetings, Pieces
from ingest.detection.facts import Flags, Ints, Spans


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Node `node` waits for the first `reach` marks of `key` (in the order of nodes); the last of them is `last`."""

    node: Ints
    key: Ints
    reach: Ints
    last: Ints

    def chosen(self, flags: Flags) -> "Edges":
        """Those for which `flags` is true."""
        return Edges(self.node[flags], self.key[flags], self.reach[flags], self.last[flags])


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The nodes in their order, before it is known what they wait for; columns as in Graph."""

    spans: Spans
    clocks: Clocks
    span: Ints
    lane: Ints
    begin: Ints
    end: Ints
    key: Ints


def wants(known: Known, found: Meetings, waits: Pieces) -> Edges:
    """Which nodes wait for which key; `reach` is the place in the order of nodes up to which marks count.

    What a wait waits for, the piece after it waits for.
    """
    order = np.argsort(found.want_span, kind="stable")
    asks, of = found.want_span[order], found.want_key[order]
    before = np.zeros(1 + int(found.want_key.max(initial=-1)), np.bool_)
    before[found.want_key[found.want_before]] = True
    piece = np.flatnonzero(known.key < 0)
    node, wanted = _matched(known.span[piece], piece, asks, of)
    after = _after(known, known.spans.lane[waits.span], waits.end)
    there = after >= 0
    place, waited = _matched(waits.span[there], np.flatnonzero(there), asks, of)
    errors = np.where(known.clocks.known, known.clocks.error_ns, 0)
    late = waits.end[place] + 2 * errors[known.spans.lane[waits.span[place]]]
    limit = np.minimum(after[place], np.searchsorted(known.end, late, "right"))
    nodes, keys = np.concatenate([node, after[place]]), np.concatenate([wanted, waited])
    until = np.searchsorted(known.end, known.begin[nodes], "right")
    reach = np.concatenate([node, limit])
    return Edges(nodes, keys, np.where(before[keys], np.minimum(until, nodes), reach), np.full(len(nodes), -1))


def _matched(span: Ints, rows: Ints, asks: Ints, of: Ints) -> tuple[Ints, Ints]:
    """Each row with each key that its span asks for; `asks` is sorted."""
    first, last = np.searchsorted(asks, span, "left"), np.searchsorted(asks, span, "right")
    count = last - first
    offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(rows, count), of[np.repeat(first, count) + offset]


def _after(known: Known, wait_lane: Ints, wait_end: Ints) -> Ints:
    """For each wait the first piece of its lane that begins at its end or later, -1 for none."""
    lane, begin = known.lane, known.begin
    piece = np.flatnonzero(known.key < 0)
    piece = piece[np.lexsort((begin[piece], lane[piece]))]
    everything = np.concatenate([begin[piece], wait_end])
    rank = np.unique(everything, return_inverse=True)[1]
    width = len(everything) + 1
    at = np.searchsorted(lane[piece] * width + rank[: len(piece)], wait_lane * width + rank[len(piece) :], "left")
    found = np.append(piece, -1)[at]
    return np.where((found >= 0) & (np.append(lane, -1)[found] == wait_lane), found, -1)


def reached(wants: Edges, key: Ints) -> Edges:
    """The edges that have any mark before their limit, which is what `reach` is until then."""
    mark = np.flatnonzero(key >= 0)
    mark = mark[np.lexsort((mark, key[mark]))]
    width = len(key) + 1
    sought = np.searchsorted(key[mark] * width + mark, wants.key * width + wants.reach, "left")
    first = np.searchsorted(key[mark], wants.key, "left")
    reach = sought - first
    last = np.append(mark, -1)[sought - 1] if len(mark) else np.full(len(sought), -1)
    return Edges(wants.node, wants.key, reach, last).chosen(reach > 0)
