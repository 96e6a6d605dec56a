"""Replays of a round: the same order and gaps with some durations shortened, and how long it lasts then."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ingest.detection.critical_path import Graph
from ingest.detection.facts import Flags, Ints
from ingest.detection.what_if.context import Context


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """`before` is its own predecessor, `waits` the (key, number of marks) it waits for; `takes` gap and work in ns."""

    at: int
    key: int
    before: int
    waits: tuple[tuple[int, int], ...]
    takes: int


def _nodes(graph: Graph) -> Iterator[_Node]:
    waits: list[tuple[tuple[int, int], ...]] = [()] * len(graph.lane)
    edges = graph.edges
    for node, key, reach in zip(edges.node.tolist(), edges.key.tolist(), edges.reach.tolist(), strict=True):
        waits[node] += ((key, reach),)
    rows = zip(graph.key.tolist(), graph.own.tolist(), waits, (graph.end - graph.ready).tolist(), strict=True)
    for at, (key, before, awaited, takes) in enumerate(rows):
        yield _Node(at, key, before, awaited, takes)


def walls(context: Context, fixed: Flags) -> Ints:
    """Nanoseconds that the round lasts where the items of each row of `fixed` (rows x items) take their reference."""
    graph = context.graph
    saved = np.append(fixed, np.zeros((len(fixed), 1), np.bool_), axis=1)
    cut, item = context.cut_ns.tolist(), context.item.tolist()
    begin = np.zeros(len(fixed), np.int64)
    ended: list[Ints] = []
    marks: dict[int, list[Ints]] = {}
    final, latest = begin, int(graph.begin_ns)
    for node in _nodes(graph):
        ready = ended[node.before] if node.before >= 0 else begin
        for key, reach in node.waits:
            ready = np.maximum(ready, marks[key][reach - 1])
        end = ready + node.takes
        if cut[node.at]:
            end -= saved[:, item[node.at]] * cut[node.at]
        ended.append(end)
        if node.key >= 0:
            earlier = marks.setdefault(node.key, [])
            earlier.append(np.maximum(end, earlier[-1]) if earlier else end)
        else:
            final = np.maximum(final, end)
            latest = max(latest, int(graph.end[node.at]))
    return final + (graph.end_ns - latest)


@dataclass(frozen=True, slots=True, eq=False)
class Along:
    """One replay: how long it lasts in nanoseconds, and the nodes on its path, the last first."""

    wall_ns: int
    path: tuple[int, ...]


def along(context: Context, fixed: Flags) -> Along:
    """The replay in which the items of `fixed` (one flag each) take their reference."""
    graph = context.graph
    shorter = np.where(np.append(fixed, False)[context.item], context.cut_ns, 0).tolist()
    ended: list[int] = []
    follows: list[int] = []
    marks: dict[int, list[tuple[int, int]]] = {}
    for node in _nodes(graph):
        ready, follow = (ended[node.before], node.before) if node.before >= 0 else (0, -1)
        for key, reach in node.waits:
            ready, follow = max((ready, follow), marks[key][reach - 1])
        ended.append(ready + node.takes - shorter[node.at])
        follows.append(follow)
        if node.key >= 0:
            earlier = marks.setdefault(node.key, [])
            earlier.append(max([*earlier[-1:], (ended[-1], node.at)]))
    return _path(graph, ended, follows)


def _path(graph: Graph, ended: list[int], follows: list[int]) -> Along:
    pieces = np.flatnonzero(graph.key < 0).tolist()
    if not pieces:
        return Along(graph.end_ns - graph.begin_ns, ())
    at = last = max(pieces, key=lambda node: (ended[node], node))
    path = []
    while at >= 0:
        path.append(at)
        at = follows[at]
    tail = graph.end_ns - int(graph.end[pieces[-1]])
    return Along(ended[last] + tail, tuple(path))
