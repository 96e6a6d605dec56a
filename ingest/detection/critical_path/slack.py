"""Slack: by how much each node of a round could have ended later without the round ending later."""

import numpy as np

from ingest.detection.critical_path.graph import Graph
from ingest.detection.critical_path.walk import enders
from ingest.detection.facts import Ints

_NEVER = 1 << 60  # nanoseconds after the round: an instant that nobody waits for holds nobody up


def slack(graph: Graph) -> Ints:
    """Nanoseconds for each node (the forward pass is the record itself, this is the backward one, gaps kept).

    What nobody waits for, and what does not end the round, can be later until the round's end.
    """
    last = enders(graph)
    latest = np.where(last, graph.end[last].max(initial=graph.begin_ns), graph.end_ns + _NEVER)
    edges: dict[int, list[tuple[int, int]]] = {}
    for node, key, reach in zip(*(column.tolist() for column in _columns(graph)), strict=True):
        edges.setdefault(node, []).append((key, reach))
    left = dict(zip(*np.unique(graph.key, return_counts=True), strict=True))
    bound: dict[int, dict[int, int]] = {}
    for node in range(len(latest) - 1, -1, -1):
        if (key := int(graph.key[node])) >= 0:
            left[key] -= 1
            carried = bound.get(key, {})
            # Whoever waits for a later mark of the key waits for this one too.
            tightest = min((limit for reach, limit in carried.items() if reach > left[key]), default=int(latest[node]))
            latest[node] = min(int(latest[node]), tightest)
        ready = int(latest[node]) - int(graph.end[node]) + int(graph.ready[node])
        own = int(graph.own[node])
        if own >= 0:
            latest[own] = min(int(latest[own]), ready)
        for key, reach in edges.get(node, ()):
            limits = bound.setdefault(key, {})
            limits[reach] = min(ready, limits.get(reach, ready))
    return np.minimum(latest, graph.end_ns) - graph.end


def _columns(graph: Graph) -> tuple[Ints, Ints, Ints]:
    return graph.edges.node, graph.edges.key, graph.edges.reach
