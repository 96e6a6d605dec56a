"""Rounds for tests of what a round waited for: named by hand, or drawn at random with everything that may go wrong."""

import numpy as np
from hypothesis import strategies as st

from ingest.detection.critical_path import Graph, Segment, build, walk
from ingest.detection.facts import Ints, Kind, Spans, Worker
from tests.ingest.detection.histories import ORIGIN_NS, nanoseconds, spans
from tests.ingest.scenarios import Did, Scenario, Who

NAMES = ("train", "encode", "upload", "aggregate", "apply", "wait", "allreduce", "barrier", "download")
UNIT_NS = 300_000  # of drawn times: phases of one thread overlap by less, and by more, than a millisecond
END = 40  # units


def members(crew: tuple[Who, ...]) -> tuple[Worker, ...]:
    """Detection's workers of a scenario's; lanes are places."""
    return tuple(
        Worker(
            lane=lane, name=who.name, role=who.role, machine=who.machine, host=who.machine, group=who.group or "",
            site=who.site or "", device=who.device,
        )
        for lane, who in enumerate(crew)
    )  # fmt: skip


def graph_of(scenario: Scenario, index: int, *, errors_ns: dict[str, int] | None = None) -> Graph:
    """The graph of a round; phases of the other rounds are given too, as late data and pipelines need."""
    lanes = {who.name: lane for lane, who in enumerate(scenario.workers)}
    columns = spans(scenario.phases, lanes, errors_ns=errors_ns)
    begin, end = scenario.rounds[index]
    return build(columns, members(scenario.workers), nanoseconds(begin), nanoseconds(end))


def told(
    *phases: Did, wall_s: float = 10.0, machines: dict[str, str] | None = None, groups: dict[str, str] | None = None
) -> Scenario:
    """One round of these phases; who is called coordinator is one, and everybody has a machine of their own."""
    names = dict.fromkeys(did.worker for did in phases)
    crew = tuple(
        Who(
            name, role="coordinator" if name == "coordinator" else "trainer",
            machine=(machines or {}).get(name, f"machine of {name}"), group=(groups or {}).get(name),
        )
        for name in names
    )  # fmt: skip
    return Scenario("told", crew, ((0.0, wall_s),), phases)


def shown(graph: Graph, names: tuple[Who, ...]) -> list[tuple[str, str, float]]:
    """The path as (worker, phase, seconds); "before ..." for gaps."""
    return [
        (
            names[one.lane].name if one.lane >= 0 else "",
            f"before {one.phase or 'the end'}" if one.gap else one.phase,
            round(one.length_ns / 1e9, 6),
        )
        for one in walk(graph)
    ]


def path_of(
    scenario: Scenario, index: int = 0, *, errors_ns: dict[str, int] | None = None
) -> list[tuple[str, str, float]]:
    """The critical path of a round as (worker, phase, seconds)."""
    return shown(graph_of(scenario, index, errors_ns=errors_ns), scenario.workers)


def adds_up(graph: Graph, path: tuple[Segment, ...]) -> bool:
    """Whether the path covers the round once, without holes."""
    bounds = [one.begin_ns for one in path] + [graph.end_ns]
    ends = [one.end_ns for one in path]
    return bounds[0] == graph.begin_ns and bounds[1:] == ends and all(one.length_ns > 0 for one in path)


@st.composite
def drawn(draw: st.DrawFn, *, errors: bool = False) -> Graph:
    """Any round: phases early, late, missing, overlapping, nested well or badly, waiting for anything or each other."""
    count = draw(st.integers(0, 24))

    def ints(least: int, most: int) -> Ints:
        return np.array(draw(st.lists(st.integers(least, most), min_size=count, max_size=count)), np.int64)

    names = ints(0, len(NAMES) - 1)
    begin = ints(-5, END + 2) * UNIT_NS + ORIGIN_NS
    kinds = np.array([KINDS[NAMES[at]] for at in names.tolist()], np.int64).reshape(count)
    columns = Spans(
        lane=ints(0, 3), attempt=np.zeros(count, np.int64), start=np.arange(count), parent=ints(-3, count),
        thread=ints(0, 1), name=names, kind=kinds, round=ints(0, 1), begin_ns=begin,
        end_ns=begin + ints(0, 20) * UNIT_NS,
        error_ns=ints(-1, 3) * (UNIT_NS if draw(st.booleans()) else 1) if errors else np.zeros(count, np.int64),
        after=np.where(ints(0, 3) == 0, ints(0, len(NAMES) - 1), -1), items=np.full(count, np.nan),
        nbytes=np.full(count, np.nan), names=NAMES,
    )  # fmt: skip
    same = draw(st.booleans())
    workers = tuple(
        Worker(
            lane=lane,
            name=f"rank-{lane}",
            role="trainer" if lane else "coordinator",
            machine="one" if same else f"m{lane}",
        )
        for lane in range(4)
    )
    return build(columns, workers, ORIGIN_NS, ORIGIN_NS + draw(st.integers(0, END)) * UNIT_NS)


KINDS = {
    "train": Kind.COMPUTE, "encode": Kind.ENCODE, "upload": Kind.TRANSFER, "aggregate": Kind.AGGREGATE,
    "apply": Kind.APPLY, "wait": Kind.WAIT, "allreduce": Kind.TRANSFER, "barrier": Kind.WAIT,
    "download": Kind.TRANSFER,
}  # fmt: skip
