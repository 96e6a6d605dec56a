"""Scenarios of the lab as detection's tests know them: the same workers, rounds and phases."""

from dataclasses import replace

import numpy as np

from ingest.detection.facts import Worker
from ingest.detection.memory import Held, Span
from roundwatch.lab.catalogue import scenarios
from roundwatch.lab.shapes import Scenario as Played
from roundwatch.wire import kind_of
from tests.ingest.detection.histories import nanoseconds
from tests.ingest.scenarios import Did, Scenario, Who


def lab(name: str) -> Played:
    """The scenario without what has to be triggered."""
    return replace(scenarios()[name], failures={})


def told(played: Played) -> Scenario:
    """Its phases, nested ones by their place among all."""
    phases: list[Did] = []
    bounds = []
    for index, act in enumerate(played.acts()):
        first = len(phases)
        phases += [
            Did(
                did.worker, index, did.name, did.begin_s, did.end_s, did.attrs,
                None if did.inside is None else first + did.inside, did.thread,
            )
            for did in act.phases
        ]  # fmt: skip
        assert all(did.kind in ("", kind_of(did.name)) for did in act.phases)
        bounds.append((min(begin for begin, _ in act.part.values()), max(end for _, end in act.part.values())))
    workers = tuple(
        Who(who.name, who.role, who.machine, who.group, who.site, who.conditions.get("devices", ""))
        for who in played.workers
    )
    return Scenario(played.name, workers, tuple(bounds), tuple(phases))


def coordinator_memory(played: Played, *, after: bool = True) -> Held:
    """What the coordinator's process held; after a round's end until the next training begins it is quiet."""
    acts = played.acts()
    end = acts[-1].next_s
    reads = [read for act in acts for read in act.reads if read.worker == "coordinator"]
    reads += played.after(end) if after else ()
    spans = []
    for index, act in enumerate(acts):
        begin, over = act.part["coordinator"]
        spans.append(
            Span(
                index=index, attempt=0, begin_ns=nanoseconds(begin), end_ns=nanoseconds(over),
                quiet_from_ns=nanoseconds(over), quiet_to_ns=nanoseconds(over),
            )
        )  # fmt: skip
    return Held(
        worker=Worker(lane=0, name="coordinator", role="coordinator"), metric="process_memory_bytes",
        times_ns=np.array([nanoseconds(read.at_s) for read in reads]),
        values=np.array([read.value for read in reads]), rounds=tuple(spans), copy_bytes=played.model_bytes,
        ended_ns=nanoseconds(end) if after else None, hosts=2,
    )  # fmt: skip
