"""Replays of a round: the same order and gaps with some durations shortened, and how long it lasts then."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ingest.detection.critical_path import Graph, enders
from ingest.detection.facts import Flags, Ints
from ingest.detection.what_if.context import Context


class _Node(NamedTuple):
    """`before` is its own predecessor, `waits` the (key, number of marks) it waits for; `takes` gap and work in ns."""

    key: int
    before: int
    waits: tuple[tuple[int, int], ...]
    takes: int


@dataclass(frozen=True, slots=True, eq=False)
class Along:
    """One replay: how long it lasts in nanoseconds, and the nodes on its path, the last first."""

    wall_ns: int
    path: tuple[int, ...]


class Replays:
    """Replays of the round of a context."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._nodes = _nodes(context.graph)

    def walls(self, fixed: Flags) -> Ints:
        """Nanoseconds that it lasts where the items of each row of `fixed` (rows x items) take their reference."""
        graph, saved = self._context.graph, fixed
        cut, item = self._context.cut_ns.tolist(), self._context.item.tolist()
        begin = np.zeros(len(fixed), np.int64)
        ended: list[Ints] = []
        marks: dict[int, list[Ints]] = {}
        final, last = begin, enders(graph).tolist()
        for at, node in enumerate(self._nodes):
            ready = ended[node.before] if node.before >= 0 else begin
            for key, reach in node.waits:
                ready = np.maximum(ready, marks[key][reach - 1])
            end = ready + node.takes
            if cut[at]:
                end -= saved[:, item[at]] * cut[at]
            ended.append(end)
            if node.key >= 0:
                earlier = marks.setdefault(node.key, [])
                earlier.append(np.maximum(end, earlier[-1]) if earlier else end)
            elif last[at]:
                final = np.maximum(final, end)
        return final + _tail(graph)

    def along(self, fixed: Flags) -> Along:
        """The one in which the items of `fixed` (one flag each) take their reference."""
        graph = self._context.graph
        shorter = np.where(np.append(fixed, False)[self._context.item], self._context.cut_ns, 0).tolist()
        ended: list[int] = []
        follows: list[int] = []
        marks: dict[int, list[tuple[int, int]]] = {}
        for at, node in enumerate(self._nodes):
            ready, follow = (ended[node.before], node.before) if node.before >= 0 else (0, -1)
            for key, reach in node.waits:
                ready, follow = max((ready, follow), marks[key][reach - 1])
            ended.append(ready + node.takes - shorter[at])
            follows.append(follow)
            if node.key >= 0:
                earlier = marks.setdefault(node.key, [])
                earlier.append(max([*earlier[-1:], (ended[-1], at)]))
        return _path(graph, ended, follows)


def _nodes(graph: Graph) -> list[_Node]:
    waits: list[tuple[tuple[int, int], ...]] = [()] * len(graph.lane)
    edges = graph.edges
    for node, key, reach in zip(edges.node.tolist(), edges.key.tolist(), edges.reach.tolist(), strict=True):
        waits[node] += ((key, reach),)
    columns = (graph.key.tolist(), graph.own.tolist(), waits, (graph.end - graph.ready).tolist())
    return [_Node(*row) for row in zip(*columns, strict=True)]


def _tail(graph: Graph) -> int:
    """What lies between the end of the last piece and the round's, as long as the round where there is no piece."""
    return graph.end_ns - int(graph.end[enders(graph)].max(initial=graph.begin_ns))


def _path(graph: Graph, ended: list[int], follows: list[int]) -> Along:
    last = np.flatnonzero(enders(graph)).tolist()
    if not last:
        return Along(graph.end_ns - graph.begin_ns, ())
    at = final = max(last, key=lambda node: (ended[node], node))
    path = []
    while at >= 0:
        path.append(at)
        at = follows[at]
    return Along(ended[final] + _tail(graph), tuple(path))
