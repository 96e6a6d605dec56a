"""The critical path: back from the round's end, always to what ended last of all that a node followed."""

from dataclasses import dataclass, replace

import numpy as np

from ingest.detection.critical_path.graph import Graph
from ingest.detection.facts import Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A piece [begin_ns, end_ns) of the path: work of span `span`, or the gap before it on its worker.

    `phase` is empty in the gap before the round's end. `error_ns` is the uncertainty of its begin where the path
    comes from another worker there.
    """

    lane: int
    span: int
    phase: str
    kind: int
    begin_ns: int
    end_ns: int
    gap: bool
    error_ns: int = 0

    @property
    def length_ns(self) -> int:
        """How long it lasted."""
        return self.end_ns - self.begin_ns


def walk(graph: Graph, *, lane: int | None = None) -> tuple[Segment, ...]:
    """The path in the order in which it happened: disjoint, without holes, summing to the round's length exactly.

    It leads to what ended last, or to what ended last on `lane`. A round in which no phase worked has one gap
    without a lane (-1); an empty round has no segments.
    """
    found: list[Segment] = []
    node = last_piece(graph, lane)
    _add(graph, found, node, int(graph.end[node]) if node >= 0 else graph.begin_ns, graph.end_ns, ends=True)
    while node >= 0:
        start, ready, before = int(graph.start[node]), int(graph.ready[node]), int(graph.follows[node])
        error = 0
        if before >= 0 and graph.lane[before] != graph.lane[node]:
            error = int(graph.clocks.between(graph.lane[node], graph.lane[before]))
        _add(graph, found, node, start, int(graph.end[node]), error_ns=error)
        _add(graph, found, node, ready, start, gap=True, error_ns=error)
        node = before
    return _joined(found[::-1])


def last_piece(graph: Graph, lane: int | None = None) -> int:
    """The piece that ends last, anywhere or on `lane`, -1 for none: the path leads there."""
    pieces = np.flatnonzero(enders(graph, lane))
    return int(pieces[-1]) if len(pieces) else -1


def enders(graph: Graph, lane: int | None = None) -> Flags:
    """The pieces that can have ended the round, of all nodes or of those of `lane`.

    What goes on beyond its end (the next round of somebody who is early, an update that nobody waited for) did not,
    if anything else ended in it.
    """
    pieces = (graph.key < 0) & ((graph.lane == lane) if lane is not None else True)
    ended = pieces & (graph.spans.end_ns[graph.span] <= graph.end_ns)
    return ended if ended.any() else pieces


def _add(
    graph: Graph, found: list[Segment], node: int, begin: int, end: int, *,
    gap: bool = False, ends: bool = False, error_ns: int = 0,
) -> None:  # fmt: skip
    if end <= begin:
        return
    span = int(graph.span[node]) if node >= 0 and not ends else -1
    one = Segment(
        lane=int(graph.lane[node]) if node >= 0 else -1, span=span,
        phase=graph.spans.names[int(graph.spans.name[span])] if span >= 0 else "",
        kind=int(graph.kinds[span]) if span >= 0 else -1,
        begin_ns=begin, end_ns=end, gap=gap or ends, error_ns=error_ns,
    )  # fmt: skip
    found.append(one)


def _joined(found: list[Segment]) -> tuple[Segment, ...]:
    """Pieces of one span that follow each other directly are one segment."""
    joined: list[Segment] = []
    for one in found:
        before = joined[-1] if joined else None
        if before is not None and (before.span, before.gap, before.lane) == (one.span, one.gap, one.lane):
            joined[-1] = replace(before, end_ns=one.end_ns)
        else:
            joined.append(one)
    return tuple(joined)
