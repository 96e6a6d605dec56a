"""How long the analysis of one round takes: 1,024 workers with nine phases each, and what it weighs when it is kept."""

import json
import random
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from ingest.detection import what_if
from ingest.detection.critical_path import Graph, build, walk
from ingest.detection.facts import Spans, Worker
from ingest.detection.gpu_waiting import attribute
from ingest.detection.round_analysis import Given, told
from roundwatch.wire import KIND_NUMBER, kind_of
from tests.bench.table import Row, conditions, show

WORKERS = 1024
BEGIN_NS = 1_790_000_000_000_000_000
PHASES = ("data", "h2d", "train", "encode", "upload", "wait", "download", "apply", "eval")
SECONDS = (1.0, 0.5, 30.0, 2.0, 1.0, 0.0, 0.7, 10.0, 3.0)


def main() -> None:
    """Prints the medians of twenty repetitions."""
    given = big_round()
    conditions("critical_path", f"{WORKERS} workers with {len(PHASES)} phases each and a coordinator with three")
    graph = graph_of(given)
    path = walk(graph)
    shares = attribute(graph, path, given.trainers).shares
    size = len(json.dumps(told(given)))
    show(
        [
            Row(name="critical path", ours=median_ms(lambda: walk(graph_of(given))), unit="ms", most=200),
            Row(name="GPU waiting", ours=median_ms(lambda: attribute(graph, path, given.trainers)), unit="ms"),
            Row(name="what-if", ours=median_ms(lambda: what_if.judge(graph, given.workers, shares)), unit="ms"),
            Row(name="the whole analysis", ours=median_ms(lambda: told(given)), unit="ms"),
            Row(name="the whole analysis, kept", ours=size / 1000, unit="kB"),
        ]
    )


def graph_of(given: Given) -> Graph:
    """The graph of the round."""
    return build(given.spans, given.workers, given.begin_ns, given.end_ns)


def median_ms(work: Callable[[], object], repetitions: int = 20) -> float:
    """The median of so many repetitions in milliseconds."""
    took = []
    for _ in range(repetitions):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1e3)
    return statistics.median(took)


def big_round() -> Given:
    """A round in which all durations vary by a tenth and three workers are slow to encode."""
    dice = random.Random(1)  # noqa: S311 - nothing secret
    rows: list[tuple[int, str, float, float]] = []
    ready = []
    for lane in range(1, WORKERS + 1):
        at = 0.0
        for phase, usual in list(zip(PHASES, SECONDS, strict=True))[:5]:
            takes = usual * max(dice.gauss(1, 0.1), 0.1) * (8 if phase == "encode" and lane in (7, 8, 900) else 1)
            rows.append((lane, phase, at, at + takes))
            at += takes
        ready.append(at)
    aggregated = max(ready) + 3
    rows += [
        (0, "wait", 0.0, max(ready)),
        (0, "aggregate", max(ready), aggregated),
        (0, "save", aggregated, aggregated + 5),
    ]
    for lane, since in enumerate(ready, 1):
        rows.append((lane, "wait", since, aggregated))
        at = aggregated
        for phase, usual in list(zip(PHASES, SECONDS, strict=True))[6:]:
            takes = usual * max(dice.gauss(1, 0.1), 0.1)
            rows.append((lane, phase, at, at + takes))
            at += takes
    return _given(rows)


def _given(rows: list[tuple[int, str, float, float]]) -> Given:
    names = (*PHASES, "aggregate", "save")
    count = len(rows)
    lane = np.array([row[0] for row in rows], np.int64)
    end = BEGIN_NS + np.array([round(row[3] * 1e9) for row in rows], np.int64)
    zeros = np.zeros(count, np.int64)
    spans = Spans(
        lane=lane, attempt=lane, start=np.arange(count), parent=zeros - 1, thread=zeros,
        name=np.array([names.index(row[1]) for row in rows], np.int64),
        kind=np.array([KIND_NUMBER[kind_of(row[1])] for row in rows], np.int64), round=zeros,
        begin_ns=BEGIN_NS + np.array([round(row[2] * 1e9) for row in rows], np.int64), end_ns=end,
        error_ns=zeros + 200_000, after=zeros - 1, items=np.full(count, np.nan), nbytes=np.full(count, np.nan),
        names=names,
    )  # fmt: skip
    workers = tuple(
        Worker(
            lane=at, name=f"rank-{at - 1}" if at else "coordinator", role="trainer" if at else "coordinator",
            machine=f"machine-{at // 8}",
        )
        for at in range(WORKERS + 1)
    )  # fmt: skip
    return Given(
        index=0,
        begin_ns=BEGIN_NS,
        end_ns=int(end.max()),
        trainers=np.arange(1, WORKERS + 1),
        workers=workers,
        spans=spans,
    )


if __name__ == "__main__":
    sys.exit(main())
